package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.apache.spark.connect.proto.ConfigRequest
import org.apache.spark.sql.internal.SQLConf

/** Which settings a client may change and read. What is planned is checked again: there are other ways to set something. */
object DoorSettings {
  /** The values that a key may have; every one, if none is said. */
  @volatile private var settable: Map[String, Set[String]] = Map.empty

  def start(list: Array[String]): Unit =
    settable = list.map(_.split(" ", 2)).groupMap(_(0))(_.drop(1)).map { case (key, values) => key -> values.flatten.toSet }

  /** Why a request is not let in, if it is not. */
  def refusal(request: ConfigRequest): Option[String] = {
    val asked = request.getOperation
    val set = asked.getSet.getPairsList.asScala.filterNot(one => changeable(one.getKey, Some(one.getValue))).map(_.getKey)
    val unset = asked.getUnset.getKeysList.asScala.filterNot(changeable(_, None))
    val read = asked.getGet.getKeysList.asScala ++ asked.getGetOption.getKeysList.asScala ++ asked.getIsModifiable.getKeysList.asScala ++
      asked.getGetWithDefault.getPairsList.asScala.map(_.getKey)
    (set ++ unset).headOption.map(refused(_, "changed")).orElse(read.find(!readable(_)).map(refused(_, "read")))
  }

  private def refused(key: String, what: String) = s"refused by the guard: the setting `$key` may not be $what; ask an administrator"

  private def changeable(key: String, value: Option[String]): Boolean =
    settable.get(key).exists(values => values.isEmpty || value.forall(values))

  /** Clients look up how Spark SQL is set. Places and secrets are in what is fixed at the start, and in keys that Spark has no
    * list of: those of catalogs, file systems and connectors.
    */
  private def readable(key: String): Boolean =
    settable.contains(key) || key.startsWith(PYTHON) || (SQLConf.containsConfigKey(key) && !SQLConf.isStaticConfigKey(key) && !PLACES(key))

  /** Places that Spark has on its list. */
  private val PLACES = Set("spark.sql.streaming.checkpointLocation")

  /** How PySpark itself behaves. */
  private val PYTHON = "spark.python.sql."
}
