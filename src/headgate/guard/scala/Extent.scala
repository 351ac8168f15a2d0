package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.JsonNodeFactory
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, View}
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Table}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.jdbc.{JDBCPartition, JDBCRelation}
import org.apache.spark.sql.execution.datasources.v2._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Which part of a table a leaf reads, as far as a user can choose it: files, options, conditions put to a database.
  *
  * Leaves with equal extents read the same rows, as long as the data stays as it is.
  */
case class Extent(parts: Set[String], options: Map[String, String]) {
  /** Whether a stream reads what was there when it began piece by piece, so that its totals differ by a few rows. */
  def piecemeal: Boolean = options.keySet.exists(Extent.pieces)

  /** Of a stream: what it reads in all its batches, if that is known. */
  def ofAllBatches: Option[Extent] = if (options.contains("basepath")) Some(Extent(Set.empty, options)) else None
}

object Extent {
  val none: Extent = Extent(Set.empty, Map.empty)
  private val pieces = Set("maxfilespertrigger", "maxbytespertrigger", "maxoffsetspertrigger", "minoffsetspertrigger", "latestfirst")

  def of(leaf: LogicalPlan): Extent = leaf match {
    case view: View => Extent(Set(s"view ${view.desc.identifier.unquotedString}"), Map.empty)
    case relation: LogicalRelation =>
      relation.relation match {
        case files: HadoopFsRelation =>
          val own = relation.catalogTable.map(table => lower(table.storage.properties)).getOrElse(Map.empty)
          // A table's partitions are those that the catalog says, whatever folders there are.
          val parts = files.location.rootPaths.map(_.toString).toSet + Names.of(files.location)
          Extent(parts, lower(files.options).filterNot { case (key, value) => key == "path" || own.get(key).contains(value) || (!relation.isStreaming && key == "basepath") })
        case jdbc: JDBCRelation =>
          val conditions = jdbc.parts.toSeq.collect { case one: JDBCPartition => s"where ${one.whereClause}" }.toSet
          Extent(conditions, lower(jdbc.jdbcOptions.parameters))
        case _ => described(leaf)
      }
    case relation: DataSourceV2Relation => second(leaf, relation)
    case relation: DataSourceV2ScanRelation => of(relation.relation)
    case other => described(other)
  }

  /** Connectors have more to say than options, such as which version of a table; what, differs by versions of Spark. */
  private def second(leaf: LogicalPlan, relation: DataSourceV2Relation): Extent = {
    val more = relation.productIterator.filter {
      case _: Table | _: Seq[_] | _: CaseInsensitiveStringMap | Some(_: CatalogPlugin) | None => false
      case _ => true
    }
    val found = described(leaf)
    found.copy(parts = found.parts ++ more.map(_.toString))
  }

  private def described(leaf: LogicalPlan): Extent = {
    val found = JsonNodeFactory.instance.objectNode()
    Sources.describe(leaf, found)
    val options = found.path("options").fields().asScala.map(one => one.getKey -> one.getValue.asText).toMap
    found.remove("options")
    Extent(Set(found.toString), options)
  }

  private def lower(options: Map[String, String]): Map[String, String] = options.map { case (key, value) => key.toLowerCase -> value }
}
