package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.protobuf.Message

import org.apache.spark.connect.proto.{Fetch, MlOperator, ObjectRef}

/** What requests of machine learning name: classes, of which Spark makes objects, methods, which it calls, and models. */
object Learning {
  /** The names that are let in, by what they are names of. */
  @volatile private var known: Map[String, Set[String]] = Map.empty

  /** What stands for no model, and does what needs none. */
  private val HELPER = "______ML_CONNECT_HELPER______"

  /** As Spark numbers models. INVARIANT: it makes a path of the number, to find a model that it has put into a file. */
  private val MODEL = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}".r

  def start(names: Array[String]): Unit =
    known = names.map(_.split(" ", 2)).groupMap(_(0))(_(1)).map { case (kind, list) => kind -> list.toSet }

  /** Why a message must not get to Spark, whatever is within it. */
  def objection(message: Message): Option[String] = message match {
    case one: MlOperator if !named(one.getType.name, one.getName) =>
      Some(s"`${one.getName}` is not among the classes of Spark's machine learning that the guard lets in")
    case one: ObjectRef if one.getId != HELPER && !MODEL.matches(one.getId) => Some(s"`${one.getId}` is not the id of a model")
    case one: Fetch => unknown(one).map(name => s"`$name` is not among what may be asked of a model")
    case _ => None
  }

  /** The first method that is not known. What the first one gives, the next is asked of. */
  private def unknown(fetch: Fetch): Option[String] = {
    val asked = fetch.getMethodsList.asScala.map(_.getMethod).toSeq
    val (helped, rest) = asked.splitAt(if (fetch.getObjRef.getId == HELPER) 1 else 0)
    helped.find(!named("helped", _)).orElse(rest.find(!named("asked", _)))
  }

  private def named(kind: String, name: String): Boolean = known.get(kind).exists(_(name))
}
