package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.catalyst.catalog.{CatalogTable, HiveTableRelation}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, Identifier, Table, TableCatalog}
import org.apache.spark.sql.execution.command._
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation, FileTable, StreamingDataSourceV2Relation, StreamingDataSourceV2ScanRelation}
import org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTable
import org.apache.spark.sql.sources.BaseRelation
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** What the leaves of a plan read, and what its commands touch. */
object Sources {
  /** Spark 4.0 says of a function of the catalog what it is made of without being asked for more. */
  private val bodiesAreShown = org.apache.spark.SPARK_VERSION.startsWith("4.0")

  def describe(leaf: LogicalPlan, result: ObjectNode): Unit = leaf match {
    case relation: LogicalRelation =>
      relation.catalogTable.foreach(table(_, result))
      relation.relation match {
        case files: HadoopFsRelation =>
          result.put("source", "files")
          result.set[ArrayNode]("paths", Reading.texts(files.location.rootPaths.map(_.toString)))
          result.put("format", Names.of(files.fileFormat))
          Reading.options(files.options, relation.catalogTable, result)
          relation.catalogTable.fold(Reading.describe(files.location, files.schema, result))(Reading.home(files, _, result))
          if (relation.isStreaming) result.set[ArrayNode]("named", Reading.texts(Streams.named(files.sparkSession.asInstanceOf[SparkSession])))
        case jdbc: JDBCRelation =>
          result.put("source", "jdbc")
          result.put("url", jdbc.jdbcOptions.url)
          result.put("name", jdbc.jdbcOptions.tableOrQuery)
          Reading.options(jdbc.jdbcOptions.parameters.toMap, relation.catalogTable, result)
          if (Reading.divided(jdbc)) result.put("clauses", true)
        case other =>
          result.put("source", "v1").put("class", other.getClass.getName)
          Reading.options(asked(other), relation.catalogTable, result)
      }
    case relation: HiveTableRelation =>
      result.put("source", "hive")
      table(relation.tableMeta, result)
    case relation: DataSourceV2Relation => second(relation.table, relation.catalog, relation.identifier, relation.options, result)
    case relation: DataSourceV2ScanRelation => describe(relation.relation, result)
    case relation: StreamingDataSourceV2ScanRelation => describe(relation.relation, result)
    case relation: StreamingDataSourceV2Relation => second(relation.table, relation.catalog, relation.identifier, relation.options, result)
    case _ =>
  }

  /** What a relation of a connector was asked for. These are not on every class path, so that what they remember is found
    * by name; of what is not found nothing is known, and the relation is none that anybody spoke of.
    */
  private def asked(relation: BaseRelation): Map[String, String] = Try {
    val options = relation.getClass.getDeclaredFields.find(_.getName.endsWith("sourceOptions")).get
    options.setAccessible(true)
    options.get(relation).asInstanceOf[Map[String, String]]
  }.getOrElse(Map.empty)

  /** How the files of a catalog table are to be read. Hive says it by the class that reads them. */
  def format(table: CatalogTable): String = {
    val reader = table.storage.inputFormat.getOrElse("").toLowerCase
    table.provider.getOrElse("").toLowerCase match {
      case "hive" => Seq("parquet", "orc").find(reader.contains).getOrElse("hive")
      case other => other
    }
  }

  private def table(found: CatalogTable, result: ObjectNode): Unit = {
    result.put("table", found.identifier.unquotedString)
    if (found.partitionColumnNames.nonEmpty) result.set[ArrayNode]("partitions", Reading.texts(found.partitionColumnNames))
  }

  private def second(table: Table, catalog: Option[CatalogPlugin], identifier: Option[Identifier], options: CaseInsensitiveStringMap, result: ObjectNode): Unit = {
    result.put("source", "v2")
    result.put("class", table.getClass.getName)
    result.put("name", table.name())
    identifier.foreach { one =>
      // INVARIANT: a table is never taken for one of another catalog. In one text a catalog looks like a namespace.
      val parts = catalog.map(_.name()).getOrElse("") +: one.namespace().toSeq :+ one.name()
      result.put("table", parts.mkString("."))
      result.set[ObjectNode]("parts", Reading.texts(parts))
    }
    Reading.options(options.asCaseSensitiveMap().asScala.toMap, None, result)
    table match {
      case files: FileTable =>
        result.put("source", "files").put("format", files.formatName)
        result.set[ArrayNode]("paths", Reading.texts(files.fileIndex.rootPaths.map(_.toString)))
        if (identifier.isEmpty) Reading.describe(files.fileIndex, files.schema, result)
        else Seq(TableCatalog.PROP_LOCATION, "path").flatMap(key => Option(files.properties.get(key))).headOption.foreach(result.put("home", _))
      case jdbc: JDBCTable =>
        result.put("source", "jdbc")
        result.put("url", jdbc.jdbcOptions.url)
        result.put("name", jdbc.jdbcOptions.tableOrQuery)
      case _ =>
    }
  }

  def describeCommand(command: LogicalPlan, result: ObjectNode): Unit = {
    if (asked(command).exists(Patterns.ofNames)) result.put("backtracks", true)
    touched(command, result)
  }

  /** The patterns of names that a command shows. */
  private def asked(command: LogicalPlan): Iterator[String] =
    command.productElementNames.zip(command.productIterator).collect { case (name, Some(text: String)) if name.toLowerCase.endsWith("pattern") => text }

  private def touched(command: LogicalPlan, result: ObjectNode): Unit = command match {
    case set: SetCommand => result.put("key", set.kv.map(_._1).getOrElse("")).put("sets", set.kv.exists(_._2.isDefined))
    case reset: ResetCommand => result.put("key", reset.config.getOrElse(""))
    case view: CreateViewCommand =>
      result.put("name", view.name.unquotedString)
      result.put("kind", view.viewType.getClass.getSimpleName.stripSuffix("$"))
    case drop: DropTempViewCommand => result.put("name", drop.ident.toString)
    case uncache: UncacheTable => result.put("temporary", uncache.table.exists { case view: View => view.isTempView; case _ => false })
    case explain: ExplainCommand => result.put("name", Names.of(explain.logicalPlan))
    case show: ShowTablesCommand => result.put("extended", show.isExtended).put("partition", show.partitionSpec.nonEmpty)
    case describe: DescribeTableCommand =>
      result.put("name", describe.table.unquotedString).put("extended", describe.isExtended).put("partition", describe.partitionSpec.nonEmpty)
    case describe: DescribeRelation =>
      // Partitions are a map in it, or in later versions of Spark a command of their own, which is refused.
      val partition = describe.productIterator.exists { case spec: Map[_, _] => spec.nonEmpty; case _ => false }
      result.put("extended", describe.isExtended).put("partition", partition)
    // What the words say of one of Spark's own is in its manual, of another what it is made of.
    case describe: DescribeFunctionCommand => result.put("body", (describe.isExtended || bodiesAreShown) && describe.info.getSource != "built-in")
    case describe: DescribeFunction => result.put("body", describe.isExtended)
    case show: ShowColumnsCommand => result.put("name", show.tableName.unquotedString)
    case write: InsertIntoHadoopFsRelationCommand =>
      result.put("path", write.outputPath.toString)
      Reading.options(write.options, None, result)
      write.catalogTable.foreach(table(_, result))
    case _ =>
  }
}
