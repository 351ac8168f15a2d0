package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.protobuf.Message

import org.apache.spark.connect.proto.{Expression, Fetch, MlCommand, MlOperator, ObjectRef}

/** What requests of machine learning name: classes, of which Spark makes objects, methods, which it calls, and models; and how
  * many rounds and parts they ask for.
  */
object Learning {
  /** The names that are let in, by what they are names of. */
  @volatile private var known: Map[String, Set[String]] = Map.empty

  /** Parameters that may be no larger (`KMeans.initSteps`), each with how large. */
  @volatile private var most: Map[String, Long] = Map.empty

  /** What stands for no model, and does what needs none. */
  private val HELPER = "______ML_CONNECT_HELPER______"

  /** As Spark numbers models. INVARIANT: it makes a path of the number, to find a model that it has put into a file. */
  private val MODEL = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}".r

  def start(names: Array[String]): Unit = {
    known = names.map(_.split(" ", 2)).groupMap(_(0))(_(1)).map { case (kind, list) => kind -> list.toSet }
    most = known.getOrElse("most", Nil).map(_.split(" ", 2)).map(one => one(0) -> one(1).toLong).toMap
  }

  /** Why a message must not get to Spark, whatever is within it. */
  def objection(message: Message): Option[String] = message match {
    case one: MlOperator if !named(one.getType.name, one.getName) =>
      Some(s"`${one.getName}` is not among the classes of Spark's machine learning that the guard lets in")
    case one: ObjectRef if one.getId != HELPER && !MODEL.matches(one.getId) => Some(s"`${one.getId}` is not the id of a model")
    case one: Fetch => unknown(one).map(name => s"`$name` is not among what may be asked of a model").orElse(excess(one))
    case one: MlCommand.Fit => excess(one)
    case _ => None
  }

  /** The first method that is not known. What the first one gives, the next is asked of. */
  private def unknown(fetch: Fetch): Option[String] = {
    val asked = fetch.getMethodsList.asScala.map(_.getMethod).toSeq
    val (helped, rest) = asked.splitAt(if (fetch.getObjRef.getId == HELPER) 1 else 0)
    helped.find(!named("helped", _)).orElse(rest.find(!named("asked", _)))
  }

  /** What is too large of the parameters of an algorithm. */
  private def excess(fit: MlCommand.Fit): Option[String] = {
    val given = fit.getParams.getParamsMap.asScala
    val name = fit.getEstimator.getName
    // Only this optimizer goes by what the last round made.
    if (name == LDA && !given.get("optimizer").exists(_.getString.equalsIgnoreCase("em"))) None
    else given.view.flatMap { case (parameter, value) => excess(name, parameter, value) }.headOption
  }

  private def excess(fetch: Fetch): Option[String] = fetch.getMethodsList.asScala.find(_.getMethod == GRAPH).flatMap { asked =>
    if (asked.getArgsCount <= ROUNDS) None else excess(GRAPH, "maxIter", asked.getArgs(ROUNDS).getParam)
  }

  private def excess(name: String, parameter: String, value: Expression.Literal): Option[String] =
    most.get(s"$name.$parameter").filterNot(bound => whole(value).exists(one => one >= 0 && one <= bound)).map {
      case 0 => s"`$parameter` of `${short(name)}` may only be false: what is noted would be made of the last note, any number of times"
      case bound => s"`$parameter` of `${short(name)}` may be a whole number of $bound at most: what it asks for is all laid out before it runs"
    }

  /** A parameter as a whole number. Spark makes one of any number, and not always the same: others are none. */
  private def whole(value: Expression.Literal): Option[Long] =
    if (value.hasInteger) Some(value.getInteger)
    else if (value.hasLong) Some(value.getLong)
    else if (value.hasBoolean) Some(if (value.getBoolean) 1 else 0)
    else None

  private def short(name: String): String = name.split('.').last

  private val LDA = "org.apache.spark.ml.clustering.LDA"

  /** The helper that takes a number of rounds, and its place among what it is given. */
  private val GRAPH = "powerIterationClusteringAssignClusters"
  private val ROUNDS = 2

  private def named(kind: String, name: String): Boolean = known.get(kind).exists(_(name))
}
