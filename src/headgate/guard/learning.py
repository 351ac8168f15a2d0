"""The words of machine learning through Spark Connect: what classes requests may name, and what they ask of models.

A request names classes and methods as texts, and Spark makes an object of the one and calls the other. The lists are
closed: a class that is registered beside Spark's own, or a method that a newer Spark adds, is refused until somebody
has looked at it. What an algorithm is given is a plan like any other, and decided on as one.
"""

from __future__ import annotations


def _of(package: str, names: str) -> tuple[str, ...]:
    return tuple(f"org.apache.spark.ml.{package}.{one}" for one in names.split())


ESTIMATORS = (
    *_of(
        "classification",
        "DecisionTreeClassifier FMClassifier GBTClassifier LinearSVC LogisticRegression MultilayerPerceptronClassifier "
        "NaiveBayes RandomForestClassifier",
    ),
    *_of(
        "regression",
        "AFTSurvivalRegression DecisionTreeRegressor FMRegressor GBTRegressor GeneralizedLinearRegression "
        "IsotonicRegression LinearRegression RandomForestRegressor",
    ),
    *_of("clustering", "GaussianMixture KMeans LDA"),
    *_of("recommendation", "ALS"),
    *_of("fpm", "FPGrowth"),
    *_of(
        "feature",
        "BucketedRandomProjectionLSH ChiSqSelector CountVectorizer IDF Imputer MaxAbsScaler MinHashLSH MinMaxScaler "
        "OneHotEncoder PCA QuantileDiscretizer RobustScaler StandardScaler StringIndexer TargetEncoder "
        "UnivariateFeatureSelector VarianceThresholdSelector VectorIndexer Word2Vec",
    ),
)
"""What learns a model of a frame.

`BisectingKMeans` is none of them: to keep its model, Spark writes it by a query of the user's, who may not write there.
Nor is `RFormula`: its formula is parsed in the driver, where each bracket doubles the time and `x^n` is a list of n.
"""

TRANSFORMERS = _of(
    "feature",
    "Binarizer Bucketizer DCT ElementwiseProduct FeatureHasher HashingTF IndexToString Interaction NGram Normalizer "
    "PolynomialExpansion SQLTransformer StopWordsRemover Tokenizer VectorAssembler VectorSizeHint VectorSlicer",
)
"""What makes a frame of a frame. The text of an `SQLTransformer` is planned as any other SQL of the user's.

`RegexTokenizer` is none of them: it matches the user's pattern with Java's own matcher, which nothing stops.
"""

EVALUATORS = _of(
    "evaluation",
    "BinaryClassificationEvaluator ClusteringEvaluator MulticlassClassificationEvaluator "
    "MultilabelClassificationEvaluator RankingEvaluator RegressionEvaluator",
)

ASKED = tuple(
    """
    accuracy aic approxNearestNeighbors approxSimilarityJoin areaUnderROC associationRules boundaries categoryMapsDF
    categorySizes cluster clusterCenterMatrix clusterCenters clusterSizes coefficientMatrix coefficientStandardErrors
    coefficients coefficientsWithStatistics computeCost degreesOfFreedom depth describeTopics deviance
    devianceResiduals dispersion docFreq estimatedDocConcentration evaluate evaluateEachIteration explainedVariance
    fMeasureByLabel fMeasureByThreshold factors falsePositiveRateByLabel featureImportances featuresCol
    findSynonyms findSynonymsArray freqItemsets gaussians gaussiansDF getNumTrees getSplits getSplitsArray getVectors
    hasSummary idf intercept interceptVector isDistributed itemFactors javaTreeWeights k labelCol labels labelsArray
    linear logLikelihood logPerplexity logPrior maxAbs mean meanAbsoluteError meanSquaredError median nullDeviance
    numClasses numDocs numFeatures numInstances numIter numIterations numNodes objectiveHistory originalMax
    originalMin pValues pc pi pr precisionByLabel precisionByThreshold predict predictLeaf predictProbability
    predictQuantiles predictRaw predictionCol predictions probability probabilityCol r2 r2adj range rank recallByLabel
    recallByThreshold recommendForAllItems recommendForAllUsers recommendForItemSubset recommendForUserSubset
    residualDegreeOfFreedom residualDegreeOfFreedomNull residuals resolvedFormulaString roc rootMeanSquaredError scale
    scoreCol selectedFeatures sigma solver std summary surrogateDF tValues theta toDebugString toLocal toString
    topicsMatrix totalIterations totalNumNodes trainingCost trainingLogLikelihood treeWeights trees
    truePositiveRateByLabel userFactors vocabSize vocabulary weightCol weightedFMeasure weightedFalsePositiveRate
    weightedPrecision weightedRecall weightedTruePositiveRate weights
    """.split()  # noqa: SIM905 - a list of words
)
"""What may be asked of a model and of its summary. Where checkpoints of one are (`getCheckpointFiles`) is not told."""

HELPED_WITH = tuple(
    """
    chiSquareTest correlation kolmogorovSmirnovTest powerIterationClusteringAssignClusters
    prefixSpanFindFrequentSequentialPatterns countVectorizerModelFromVocabulary stringIndexerModelFromLabels
    stringIndexerModelFromLabelsArray stopWordsRemoverGetDefaultOrUS stopWordsRemoverLoadDefaultStopWords
    """.split()  # noqa: SIM905 - a list of words
)
"""What is done without a model. `handleOverwrite` would delete the folder that it is given."""


def _most(names: tuple[str, ...], **parameters: int) -> dict[str, int]:
    return {f"{name}.{parameter}": most for name in names for parameter, most in parameters.items()}


_TREES = tuple(one for one in ESTIMATORS if "Tree" in one or "GBT" in one or "RandomForest" in one)
_GRAPHS = 50
"""How many rounds there are of algorithms on graphs, of which each is some ten steps on what the last one made."""

MOST = {
    **_most(_of("recommendation", "ALS"), maxIter=100, numUserBlocks=1_000, numItemBlocks=1_000),
    **_most(_of("classification", "GBTClassifier") + _of("regression", "GBTRegressor"), maxIter=100),
    **_most(_of("clustering", "KMeans"), initSteps=50),
    **_most(_of("clustering", "LDA"), maxIter=_GRAPHS),
    **_most(_of("feature", "Word2Vec") + _of("fpm", "FPGrowth"), numPartitions=100_000),
    **_most(_TREES, cacheNodeIds=0),
    **_most(("powerIterationClusteringAssignClusters",), maxIter=_GRAPHS),
}
"""Whole numbers that may be no larger, by what they are given to. Spark's scheduler looks at what rounds are made of by
calling itself for each, on one thread for all users, which ends when it has no more stack, and Spark with it.

Of an `LDA` it is so only with the optimizer `em`. What trees note of their nodes (`cacheNodeIds`) they make of the last
note for each group of nodes, of which there are any number.
"""

NAMED = {
    "OPERATOR_TYPE_ESTIMATOR": ESTIMATORS,
    "OPERATOR_TYPE_TRANSFORMER": TRANSFORMERS,
    "OPERATOR_TYPE_EVALUATOR": EVALUATORS,
    "asked": ASKED,
    "helped": HELPED_WITH,
    "most": tuple(f"{parameter} {most}" for parameter, most in MOST.items()),
}
"""The names that are let in, by what they are names of; operators as the protocol calls them. Models have none, as
they are not read from files."""
