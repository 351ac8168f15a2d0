"""Machine learning by unmodified clients of the endpoint: algorithms get what may be read, and nothing else."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import pytest
from endpoints import ALICE, BOB, answer_of, answers_to
from flowers import KIND, LARGE, LEARNING, MEASURES, flower_endpoint, policies, table
from guarded import has, since
from pyspark.ml import Pipeline
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.clustering import KMeans
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import StandardScaler, VectorAssembler
from pyspark.ml.tuning import CrossValidator
from pyspark.sql import DataFrame

CLUSTERS = (2, 3, 4, 5, 6)
COMPUTED = policies("alice | , attributes: [second, third, fourth] | read", "alice | , attributes: [first] | compute")
NAMES = policies("alice | , attributes: [name] | read")

CLUSTERED = (
    LEARNING
    + f"""
answer = []
for k in {CLUSTERS}:
    model = KMeans(k=k, seed=7, maxIter=5).fit(vectors(flowers).select("features"))
    centres = [[float(place) for place in one] for one in model.clusterCenters()]
    answer.append([model.summary.trainingCost, model.summary.clusterSizes, centres])
"""
)

# Of some flowers one measure is withheld, and so they are left out by whoever asks for whole vectors.
CELLS = (
    LEARNING
    + """
whole = vectors(flowers, handleInvalid="skip").select("features")
model = KMeans(k=2, seed=7, maxIter=5).fit(whole)
answer = [len(flowers.where("first IS NULL").collect()), model.summary.trainingCost, sum(model.summary.clusterSizes)]
answer.append(outcome(lambda: KMeans(k=2, seed=7).fit(vectors(flowers))))
"""
)

CLASSIFIED = (
    LEARNING
    + """
stages = [VectorAssembler(inputCols=MEASURES, outputCol="raw"), StandardScaler(inputCol="raw", outputCol="features")]
stages.append(LogisticRegression(labelCol=KIND, maxIter=20, regParam=0.1))
model = Pipeline(stages=stages).fit(flowers.coalesce(1))
judged = model.transform(flowers)
area = BinaryClassificationEvaluator(labelCol=KIND).evaluate(judged)
last = model.stages[-1]
told = [last.summary.accuracy, last.summary.predictions.count(), last.evaluate(judged.drop("rawPrediction",
    "probability", "prediction")).accuracy]
answer = [list(map(float, last.coefficients)), area, judged.count(), told]
"""
)

TUNED = (
    LEARNING
    + """
learner = LogisticRegression(labelCol=KIND, maxIter=5)
grid = ParamGridBuilder().addGrid(learner.regParam, [0.01, 1.0]).build()
judge = BinaryClassificationEvaluator(labelCol=KIND)
tuner = CrossValidator(estimator=learner, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=3)
answer = list(map(float, tuner.fit(vectors(flowers)).avgMetrics))
"""
)

FEATURES = (
    LEARNING
    + """
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.stat import Correlation, Summarizer
indexed = StringIndexer(inputCol="name", outputCol="number").fit(flowers)
encoded = OneHotEncoder(inputCols=["number"], outputCols=["coded"]).fit(indexed.transform(flowers))
made = vectors(flowers)
answer = [
    indexed.labels,
    encoded.transform(indexed.transform(flowers)).select(vector_to_array("coded")).distinct().count(),
    float(Correlation.corr(made, "features").first()[0][0, 0]),
    float(made.select(Summarizer.min(made.features)).first()[0][0]),
    SQLTransformer(statement="SELECT min(first) FROM __THIS__").transform(flowers).first()[0],
]
"""
)

VOTED = (
    LEARNING
    + """
from pyspark.ml.classification import OneVsRest
made = StringIndexer(inputCol="name", outputCol="number").fit(flowers).transform(vectors(flowers))
answer = OneVsRest(classifier=LogisticRegression(), labelCol="number").fit(made).transform(made).count()
"""
)

# A measure that may be computed with and not read; then nothing that the algorithm asks for.
WITHHELD = (
    LEARNING
    + f"""
change({COMPUTED!r})
answer = [outcome(lambda: KMeans(k=2).fit(vectors(flowers))), flowers.agg(dict(first="min")).first()[0]]
answer.append(outcome(lambda: KMeans(k=2).fit(vectors(flowers, handleInvalid="keep").select("features"))))
change({NAMES!r})
answer.append(outcome(lambda: KMeans(k=2).fit(vectors(flowers).select("features"))))
change({LARGE!r})
"""
)

REVOKED = (
    LEARNING
    + f"""
made = vectors(flowers)
model = LogisticRegression(labelCol=KIND, maxIter=5).fit(made)
centres = KMeans(k=2, seed=7).fit(made)
summary = model.summary
before = [list(map(float, model.coefficients)), summary.predictions.count()]
change({NAMES!r})
answer = [before[0] == list(map(float, model.coefficients)), len(centres.clusterCenters())]
refused = [
    outcome(lambda: centres.transform(vectors(flowers)).select("features").collect()),
    outcome(lambda: centres.transform(made).select("features").collect()),
    outcome(lambda: summary.predictions.select("features").collect()),
    outcome(lambda: model.evaluate(made.select("features", KIND)).accuracy),
    outcome(lambda: BinaryClassificationEvaluator(labelCol=KIND).evaluate(model.transform(made))),
]
answer += [before[1], refused]
change({LARGE!r})
"""
)

KEPT = (
    LEARNING
    + f"""
kept = flowers.localCheckpoint()
answer = [kept.count(), kept.agg(dict(first="min")).first()[0]]
refused = [outcome(lambda: flowers.localCheckpoint(eager=False)), outcome(lambda: flowers.checkpoint())]
change({NAMES!r})
answer += [kept.count(), outcome(lambda: flowers.select("first").localCheckpoint())]
change({LARGE!r})
answer.append(refused)
"""
)

REFLECTED = "[InvocationTargetException] The query failed"
"""How Spark 4.0 tells clients of what went wrong within a model's own queries."""

TASKS = {
    "clustered": (ALICE, "", CLUSTERED),
    "cells": (BOB, "", CELLS),
    "classified": (ALICE, "", CLASSIFIED),
    "tuned": (ALICE, "", TUNED),
    "features": (ALICE, "", FEATURES),
    "voted": (ALICE, "", VOTED),
    "withheld": (ALICE, "", WITHHELD),
    "revoked": (ALICE, "", REVOKED),
    "kept": (ALICE, "", KEPT),
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    with flower_endpoint(tmp_path_factory.mktemp("learning")) as endpoint:
        return answers_to(endpoint, TASKS)


@pytest.fixture(scope="module")
def large(spark) -> DataFrame:
    """The large flowers alone, the others deleted by hand, in a session without a guard."""
    rows = [tuple(row.values()) for row in table().to_pylist() if row["first"] > 5.5]
    columns = ", ".join(f"{one} double" for one in (*MEASURES, KIND))
    return spark.createDataFrame(rows, f"{columns}, name string").coalesce(1)


def vectors(frame: DataFrame) -> DataFrame:
    return VectorAssembler(inputCols=MEASURES, outputCol="features").transform(frame)


def test_k_means_gets_the_flowers_that_may_be_read(answers, large, spark) -> None:
    found = answer_of(answers, "clustered")
    assert len(found) == len(CLUSTERS)
    for k, (cost, sizes, centres) in zip(CLUSTERS, found, strict=True):
        model = KMeans(k=k, seed=7, maxIter=5).fit(vectors(large).select("features"))
        assert cost == pytest.approx(model.summary.trainingCost)
        assert sizes == model.summary.clusterSizes
        assert centres == [pytest.approx(list(one)) for one in model.clusterCenters()]


def test_k_means_with_one_measure_withheld(answers, large) -> None:
    withheld, cost, count, told = answer_of(answers, "cells")
    model = KMeans(k=2, seed=7, maxIter=5).fit(vectors(large).select("features"))
    assert withheld == table().num_rows - large.count()
    assert cost == pytest.approx(model.summary.trainingCost)
    assert count == large.count()
    assert "The query failed while it ran" in told


def test_a_pipeline_learns_predicts_and_is_judged(answers, large) -> None:
    coefficients, area, count, (accuracy, predicted, judged_again) = answer_of(answers, "classified")
    scaler = StandardScaler(inputCol="raw", outputCol="features")
    learner = LogisticRegression(labelCol=KIND, maxIter=20, regParam=0.1)
    model = Pipeline(stages=[VectorAssembler(inputCols=MEASURES, outputCol="raw"), scaler, learner]).fit(large)
    judged = model.transform(large)
    assert coefficients == pytest.approx(list(model.stages[-1].coefficients))
    assert area == pytest.approx(BinaryClassificationEvaluator(labelCol=KIND).evaluate(judged))
    assert count == predicted == large.count()
    assert accuracy == judged_again == pytest.approx(model.stages[-1].summary.accuracy)


def test_a_cross_validation(answers, large) -> None:
    """Fold by fold, as the client does it."""
    judge = BinaryClassificationEvaluator(labelCol=KIND)
    folds = CrossValidator(numFolds=2, seed=3)._kFold(vectors(large))
    by_hand = []
    for weight in (0.01, 1.0):
        learner = LogisticRegression(labelCol=KIND, maxIter=5, regParam=weight)
        by_hand.append(fmean(judge.evaluate(learner.fit(train).transform(test)) for train, test in folds))
    assert answer_of(answers, "tuned") == pytest.approx(by_hand)


def test_features_are_made_of_what_may_be_read(answers, large) -> None:
    labels, codes, same, least, least_by_sql = answer_of(answers, "features")
    assert sorted(labels) == sorted(row[0] for row in large.select("name").distinct().collect())
    assert (codes, same) == (len(labels), 1.0)
    assert least == least_by_sql == large.agg({"first": "min"}).first()[0] > 5.5


@since("4.1", "an OneVsRest that sends no function in Python")
def test_learners_that_vote(answers, large) -> None:
    assert answer_of(answers, "voted") == large.count()


def test_what_may_not_be_read_is_not_learnt_from(answers) -> None:
    """To an algorithm a value is given as it is, so that it takes `read`, however much is made of it."""
    failed, least, first, refused = answer_of(answers, "withheld")
    assert "The query failed while it ran" in failed
    assert least == 4.3
    assert "refused by the guard: no output column is allowed: read of `flower.first` is withheld" in first
    assert "refused by the guard" in refused


def test_models_stay_what_they_were_and_learn_nothing_more(answers) -> None:
    """What a model was made of was given out; what it makes of other rows is decided on anew."""
    same, centres, predicted, refused = answer_of(answers, "revoked")
    assert same
    assert (centres, predicted) == (2, 91)
    assert len(refused) == 5
    for told in refused:
        assert "refused by the guard" in told or (REFLECTED in told and not has("4.1"))


def test_rows_that_are_kept_are_those_that_were_given_out(answers) -> None:
    """Kept at once: later it would still be by the decision of now. Files are not for a checkpoint."""
    count, least, afterwards, told, (lazy, reliable) = answer_of(answers, "kept")
    assert (count, afterwards) == (91, 91)
    assert least > 5.5
    assert "refused by the guard" in told
    assert "refused by the guard: a checkpoint is made at once; leave out `eager`" in lazy
    assert "refused by the guard: checkpoints are not written to files" in reliable
