"""What requests of machine learning name is looked at before Spark makes objects of it, calls it, or finds a file."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any

import pyspark
import pytest
from endpoints import ALICE, answer_of, answers_to
from flowers import LEARNING, flower_endpoint
from requests_by_hand import BY_HAND

from headgate.guard import learning

SECONDS = 6

PRELUDE = (
    BY_HAND
    + LEARNING
    + """
from pyspark.sql.connect import proto
def fitted(name, kind=1):
    def fill(plan):
        asked = plan.command.ml_command.fit
        asked.estimator.name, asked.estimator.uid, asked.estimator.type = name, "x", kind
        asked.dataset.range.end = 3
        asked.dataset.range.step = 1
    return outcome(lambda: executed(fill))
def evaluated(name):
    def fill(plan):
        asked = plan.command.ml_command.evaluate
        asked.evaluator.name, asked.evaluator.uid, asked.evaluator.type = name, "x", 3
        asked.dataset.range.end = 3
        asked.dataset.range.step = 1
    return outcome(lambda: executed(fill))
def transformed(name, kind=2):
    def fill(plan):
        asked = plan.root.ml_relation.transform
        asked.transformer.name, asked.transformer.uid, asked.transformer.type = name, "x", kind
        asked.input.range.end = 3
        asked.input.range.step = 1
    return both(fill)
def fetched(model, *names):
    def fill(plan):
        asked = plan.command.ml_command.fetch
        asked.obj_ref.id = model
        for name, *values in names:
            method = asked.methods.add(method=name)
            for value in values:
                argument = method.args.add().param
                if isinstance(value, bool):
                    argument.boolean = value
                else:
                    argument.string = value
    return outcome(lambda: executed(fill))
"""
)

CLASSES = (
    PRELUDE
    + """
answer = [
    fitted("java.util.concurrent.ForkJoinPool"),
    fitted("org.apache.spark.ml.feature.VectorAssembler"),
    fitted("org.apache.spark.ml.clustering.KMeans", 4),
    fitted("org.apache.spark.ml.clustering.KMeans", 0),
    fitted("org.apache.spark.ml.clustering.BisectingKMeans"),
    evaluated("org.apache.spark.ml.clustering.KMeans"),
    *transformed("org.apache.spark.ml.feature.RegexTokenizer"),
    *transformed("org.apache.spark.ml.clustering.KMeansModel"),
    *transformed("org.apache.spark.ml.util.ConnectHelper"),
]
"""
)

TYPES = (
    PRELUDE
    + """
def cast(name):
    def fill(plan):
        plan.root.project.input.range.end = 3
        plan.root.project.input.range.step = 1
        asked = plan.root.project.expressions.add().cast
        asked.expr.literal.integer = 1
        asked.type.udt.type = "udt"
        asked.type.udt.jvm_class = name
    return fill
answer = both(cast("java.util.concurrent.ForkJoinPool"))
answer += [vectors(flowers).select("features").schema["features"].dataType.jsonValue()["class"]]
"""
)

# A folder that is there, with a file in it, by its whole path and by the way to it.
PLACES = (
    PRELUDE
    + """
from pathlib import Path
victim = Path("DATA").parent / "victim"
victim.mkdir()
(victim / "file").touch()
def deleted(model):
    def fill(plan):
        plan.command.ml_command.delete.obj_refs.add(id=model)
    return outcome(lambda: executed(fill))
def used(model):
    def fill(plan):
        plan.root.ml_relation.transform.obj_ref.id = model
        plan.root.ml_relation.transform.input.range.end = 3
    return both(fill)
def asked(model, kind):
    def fill(plan):
        getattr(plan.command.ml_command, kind).model_ref.id = model
    return outcome(lambda: executed(fill))
model = KMeans(k=2).fit(vectors(flowers))
names = [str(victim), "../../../victim", "..", ""]
ids = [told for name in names for told in (deleted(name), fetched(name, ["summary"]), *used(name))]
ids += [asked(str(victim), kind) for kind in KINDS]
kept = Path("DATA").parent / "temporary" / "spark_connect_model_cache"
answer = [ids, (victim / "file").exists(), model.hasSummary]
answer += [oct(kept.stat().st_mode & 0o777), len(list(kept.glob("*/*")))]
files = [
    fetched("______ML_CONNECT_HELPER______", ["handleOverwrite", str(victim), True]),
    outcome(lambda: model.save(str(Path("DATA").parent / "out" / "alice" / "model"))),
    outcome(lambda: model.write().overwrite().save(str(victim))),
    outcome(lambda: Pipeline(stages=[]).write().overwrite().save(str(victim))),
    outcome(lambda: type(model).load(str(victim))),
    outcome(lambda: VectorAssembler(inputCols=["first"], outputCol="x").save(str(victim))),
]
answer += [files, (victim / "file").exists(), (victim.parent / "out").exists()]
"""
)

# Rounds that are laid out before the first one runs, or are made of the last one each, and parts.
ROUNDS = (
    PRELUDE
    + """
def learnt(name, kind="integer", **given):
    def fill(plan):
        asked = plan.command.ml_command.fit
        asked.estimator.name, asked.estimator.uid, asked.estimator.type = f"org.apache.spark.ml.{name}", "x", 1
        for parameter, value in given.items():
            setattr(asked.params.params[parameter], "string" if isinstance(value, str) else kind, value)
        asked.dataset.sql.query = "SELECT * FROM VALUES (1, 1, 1.0f), (2, 1, 2.0f) AS t(user, item, rating)"
    return outcome(lambda: executed(fill))
def clustered(rounds):
    def fill(plan):
        asked = plan.root.ml_relation.fetch
        asked.obj_ref.id = "______ML_CONNECT_HELPER______"
        arguments = asked.methods.add(method="powerIterationClusteringAssignClusters").args
        arguments.add().input.sql.query = "SELECT * FROM VALUES (0L, 1L), (1L, 2L) AS t(src, dst)"
        arguments.add().param.integer = 2
        arguments.add().param.integer = rounds
        for text in ("random", "src", "dst", ""):
            arguments.add().param.string = text
    return both(fill)
als = "recommendation.ALS"
refused = {
    "maxIter 100": [
        learnt(als, maxIter=1500),
        learnt(als, "long", maxIter=2 ** 32 + 1500),
        learnt(als, "long", maxIter=1500 - 2 ** 32),
        learnt(als, "double", maxIter=1500.0),
        learnt(als, maxIter="1500"),
        learnt("classification.GBTClassifier", maxIter=101),
        learnt("regression.GBTRegressor", maxIter=101),
    ],
    "numUserBlocks 1000": [learnt(als, numUserBlocks=2 ** 31 - 1)],
    "numItemBlocks 1000": [learnt(als, numItemBlocks=1001)],
    "initSteps 50": [learnt("clustering.KMeans", initSteps=5000)],
    "maxIter 50": [learnt("clustering.LDA", optimizer="EM", maxIter=51), *clustered(51)],
    "numPartitions 100000": [
        learnt("feature.Word2Vec", numPartitions=2 ** 31 - 1), learnt("fpm.FPGrowth", numPartitions=100001),
    ],
    "cacheNodeIds 0": [
        learnt(f"classification.{one}Classifier", "boolean", cacheNodeIds=True)
        for one in ("DecisionTree", "GBT", "RandomForest")
    ],
}
from pyspark.ml.classification import RandomForestClassifier
from pyspark.ml.clustering import LDA, PowerIterationClustering
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.recommendation import ALS
ratings = spark.sql("SELECT int(id % 5) user, int(id % 7) item, float(id % 3) rating FROM range(40)")
def tuned(rounds):
    best = ALS(rank=1, numUserBlocks=1, numItemBlocks=1, coldStartStrategy="drop", seed=7)
    grid = ParamGridBuilder().addGrid(best.maxIter, [1, rounds]).build()
    judge = RegressionEvaluator(labelCol="rating")
    return CrossValidator(
        estimator=Pipeline(stages=[best]), estimatorParamMaps=grid, evaluator=judge, numFolds=2
    ).fit(ratings)
plain = ALS()
refused["maxIter 100"] += [
    outcome(lambda: ALS(maxIter=101).fit(ratings)),
    outcome(lambda: Pipeline(stages=[ALS(maxIter=101)]).fit(ratings)),
    outcome(lambda: plain.fit(ratings, {plain.maxIter: 101})),
    outcome(lambda: tuned(101)),
]
links = spark.sql("SELECT id src, (id + 1) % 4 dst FROM range(4)")
done = [
    outcome(lambda: ALS(maxIter=3, rank=1, numUserBlocks=2).fit(ratings)),
    outcome(lambda: tuned(2)),
    outcome(lambda: LDA(maxIter=60, k=2).fit(vectors(flowers).limit(3))),
    outcome(lambda: LDA(maxIter=2, k=2, optimizer="em").fit(vectors(flowers).limit(3))),
    outcome(lambda: RandomForestClassifier(labelCol=KIND, numTrees=2, cacheNodeIds=False).fit(vectors(flowers))),
    outcome(lambda: KMeans(k=2, initSteps=3).fit(vectors(flowers))),
    outcome(lambda: PowerIterationClustering(k=2, maxIter=3).assignClusters(links).collect()),
]
answer = [refused, done]
"""
)

METHODS = (
    PRELUDE
    + """
model = KMeans(k=2).fit(vectors(flowers))._java_obj.ref_id
answer = [
    fetched(model, ["getCheckpointFiles"]),
    fetched(model, ["getClass"], ["getClassLoader"]),
    fetched(model, ["summary"], ["getClass"]),
    fetched(model, ["correlation"]),
    fetched("______ML_CONNECT_HELPER______", ["summary"]),
    fetched("______ML_CONNECT_HELPER______", ["stopWordsRemoverGetDefaultOrUS"], ["getClass"]),
]
def related(plan):
    plan.root.ml_relation.fetch.obj_ref.id = model
    plan.root.ml_relation.fetch.methods.add(method="getClass")
answer += both(related)
"""
)

OTHERS = (
    PRELUDE
    + """
bob = session("bob-example")
def learnt(one):
    made = VectorAssembler(inputCols=["second"], outputCol="features")
    return KMeans(k=2).fit(made.transform(one.read.parquet("DATA")))
theirs = learnt(bob)
model = theirs._java_obj.ref_id
def borrowed():
    request = proto.ExecutePlanRequest(session_id=bob.client._session_id)
    request.plan.command.ml_command.fetch.obj_ref.id = model
    request.plan.command.ml_command.fetch.methods.add(method="clusterCenterMatrix")
    return list(spark.client._stub.ExecutePlan(request, metadata=spark.client._builder.metadata()))
def cleaned():
    request = proto.ExecutePlanRequest(session_id=bob.client._session_id)
    request.plan.command.ml_command.clean_cache.SetInParent()
    return list(spark.client._stub.ExecutePlan(request, metadata=spark.client._builder.metadata()))
own = session("alice-example")
mine = learnt(own)
answer = [
    fetched(model, ["clusterCenterMatrix"]),
    outcome(borrowed),
    outcome(cleaned),
    fetched(mine._java_obj.ref_id, ["clusterCenterMatrix"]),
]
spark = bob
answer += [fetched(model, ["clusterCenterMatrix"])]
"""
)

STATEMENTS = (
    PRELUDE
    + """
function = "from_xml('<a/>', 'a INT', map('rowValidationXSDPath', 'http://127.0.0.1:1/x.xsd'))"
made = [
    f"SELECT {function} FROM __THIS__",
    f"SELECT * FROM __THIS__, VALUES ({function})",
    "SELECT * FROM text.`/etc/hostname`",
    "SELECT * FROM parquet.`/etc`",
    "SELECT java_method('java.lang.System', 'getProperty', 'user.name') FROM __THIS__",
    "SET spark.sql.variable.substitute=true",
    "DROP TABLE flower",
]
answer = []
for text in made:
    frame = SQLTransformer(statement=text).transform(flowers)
    answer += [outcome(lambda: frame.schema), outcome(lambda: frame.collect())]
answer += [SQLTransformer(statement="SELECT '${env:PATH}' FROM __THIS__").transform(flowers).first()[0]]
"""
)

# Values of flowers that Alice may read are in what Spark says of them; who is no administrator is told a code.
ERRORS = (
    PRELUDE
    + """
from pyspark.ml.feature import StringIndexerModel
few = StringIndexerModel.from_labels(["setosa"], inputCol="name", outputCol="number")
split = Bucketizer(splits=[0.0, 5.6, 5.7], inputCol="first", outputCol="number")
answer = [outcome(lambda: few.transform(flowers).collect()), outcome(lambda: split.transform(flowers).collect())]
answer += [outcome(lambda: LogisticRegression(labelCol="first").fit(vectors(flowers)))]
"""
)

SETTINGS = (
    LEARNING
    + """
key = "spark.connect.session.connectML.mlCache.memoryControl"
answer = [
    outcome(lambda: spark.conf.set(f"{key}.enabled", "false")),
    outcome(lambda: spark.conf.unset(f"{key}.maxModelSize")),
    outcome(lambda: spark.sql(f"SET {key}.maxStorageSize=100g")),
]
"""
)

TIMED = (
    LEARNING
    + """
import time
from pyspark.ml.stat import Correlation
def timed(act):
    begun = time.monotonic()
    return [outcome(act), time.monotonic() - begun]
pairs = spark.sql("SELECT double(a.id) x FROM range(0, 100000000, 1, 2) a CROSS JOIN range(100000000) b")
one = VectorAssembler(inputCols=["x"], outputCol="features").transform(pairs)
words = spark.sql("SELECT split('a b c d', ' ') words FROM range(100)")
answer = [
    timed(lambda: KMeans(k=2).fit(one)),
    timed(lambda: Word2Vec(maxIter=10000000, minCount=0, vectorSize=1, inputCol="words").fit(words)),
    timed(lambda: Correlation.corr(one, "features").schema),
]
"""
)

KINDS = ("create_summary", "get_model_size")
"""Requests of Spark 4.3."""

TASKS = {
    "classes": (ALICE, "", CLASSES),
    "types": (ALICE, "", TYPES),
    "places": (ALICE, "", f"KINDS = {KINDS!r}\n{PLACES}"),
    "rounds": (ALICE, "", ROUNDS),
    "methods": (ALICE, "", METHODS),
    "others": (ALICE, "", OTHERS),
    "statements": (ALICE, "", STATEMENTS),
    "errors": (ALICE, "", ERRORS),
    "settings": (ALICE, "", SETTINGS),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    with flower_endpoint(tmp_path_factory.mktemp("doors")) as endpoint:
        return answers_to(endpoint, TASKS)


def test_classes_that_are_not_on_the_list_are_refused(answers) -> None:
    """Way in 5: Spark makes an object of whatever is registered under the name."""
    found = answer_of(answers, "classes")
    assert len(found) == 12
    for told in found:
        assert "is not among the classes of Spark's machine learning that the guard lets in" in told


def test_types_that_name_other_classes_are_refused(answers) -> None:
    *refused, vector = answer_of(answers, "types")
    for told in refused:
        assert "the class `java.util.concurrent.ForkJoinPool` is not among the types that the guard understands" in told
    assert vector == "org.apache.spark.ml.linalg.VectorUDT"


def test_an_id_is_none_of_a_file(answers) -> None:
    """Way in 5: Spark makes a path of it, which not every version looks at before it loads or deletes something."""
    ids, there, summary, mode, kept, *_ = answer_of(answers, "places")
    assert len(ids) == 4 * 4 + len(KINDS)
    for told in ids:
        assert "is not the id of a model" in told
    assert there
    assert summary
    assert mode == "0o700"
    assert kept == 1


def test_models_are_not_kept_in_files_of_the_users(answers) -> None:
    *_, files, there, made = answer_of(answers, "places")
    deleted, *kinds = files
    assert "`handleOverwrite` is not among what may be asked of a model" in deleted
    for told in kinds:
        assert "refused by the guard" in told
    for told in (*kinds[:2], *kinds[3:]):
        assert "models are not kept in files here" in told
    assert there
    assert not made


def test_models_are_not_kept_where_somebody_else_says(tmp_path) -> None:
    """Way in 5: Spark loads models from a folder whose name can be guessed; what is in it makes objects."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "temporary").mkdir()
    (tmp_path / "temporary" / "spark_connect_model_cache").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AssertionError, match="the server did not start"), flower_endpoint(tmp_path):
        pass


def test_methods_that_are_not_known_are_not_called(answers) -> None:
    found = answer_of(answers, "methods")
    assert len(found) == 8
    for told in found:
        assert "is not among what may be asked of a model" in told


def test_models_of_other_sessions_are_not_found(answers) -> None:
    """Way in 12: not those of another user, by whatever id of a session, and not those of one's own other sessions."""
    theirs, borrowed, cleaned, mine, at_last = answer_of(answers, "others")
    for told in (theirs, mine):
        assert "CONNECT_ML.CACHE_INVALID" in told
    for told in (borrowed, cleaned):
        assert "refused by the guard: another user has a session of this id" in told
    assert at_last == "done"


def test_the_text_of_a_transformer_is_sql_like_any_other(answers) -> None:
    *refused, text = answer_of(answers, "statements")
    assert len(refused) == 14
    for told in refused:
        assert "refused by the guard" in told
    assert "`XmlToStructs` is not among the functions" in refused[0]
    assert text == "${env:PATH}"


def test_errors_of_algorithms_are_told_without_values(answers) -> None:
    """Way in 1: of a label that was not seen, of a number outside of all buckets, of a class that is no number."""
    for told in answer_of(answers, "errors"):
        assert re.match(r"\[[A-Za-z_.]+\] The query failed while it ran", told)
        assert not re.search(r"virginica|versicolor|\d\.\d", told)


def test_how_much_is_kept_of_models_is_for_administrators(answers) -> None:
    for told in answer_of(answers, "settings"):
        assert "may not be changed" in told


def test_algorithms_lay_out_no_number_of_rounds(answers) -> None:
    """Way in 20: Spark's scheduler calls itself for each, and ends for all users when it has no more stack."""
    refused, done = answer_of(answers, "rounds")
    assert [len(told) for told in refused.values()] == [11, 1, 1, 1, 3, 2, 3]
    for bound, found in refused.items():
        parameter, most = bound.split()
        expected = f"may be a whole number of {most} at most" if most != "0" else "may only be false"
        for told in found:
            assert re.search(f"`{parameter}` of `\\w+` {expected}", told), (bound, told)
    assert done == ["done"] * 7


def test_an_algorithm_that_never_ends_is_stopped(tmp_path) -> None:
    """Way in 20: in one task, in ever new ones, and while a plan is analysed."""
    with flower_endpoint(tmp_path, {"seconds": SECONDS}) as endpoint:
        found = answer_of(answers_to(endpoint, {"timed": (ALICE, "", TIMED)}), "timed")
    assert len(found) == 3
    for told, seconds in found:
        assert f"the query ran for more than {SECONDS} s" in told
        assert SECONDS <= seconds < SECONDS + 30


LEFT_OUT = {
    "org.apache.spark.ml.clustering.BisectingKMeans",
    "org.apache.spark.ml.clustering.PowerIterationClusteringWrapper",
    "org.apache.spark.ml.feature.RFormula",
    "org.apache.spark.ml.feature.RegexTokenizer",
}


def test_every_class_that_spark_registers_was_looked_at() -> None:
    """A red test means: decide on the new class, then add it to those let in, or to those left out."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("spark-mllib_*.jar")
    registered = set()
    with zipfile.ZipFile(jar) as content:
        for kind in ("Estimator", "Transformer", "evaluation.Evaluator"):
            lines = content.read(f"META-INF/services/org.apache.spark.ml.{kind}").decode().splitlines()
            registered |= {line.strip() for line in lines if line.strip() and not line.startswith("#")}
    known = {*learning.ESTIMATORS, *learning.TRANSFORMERS, *learning.EVALUATORS}
    assert {one for one in registered - known if not one.endswith("Model")} <= LEFT_OUT
    assert not known & LEFT_OUT
