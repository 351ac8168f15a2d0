package org.apache.spark.sql.headgate

import org.apache.hadoop.fs.Path

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Expression, Literal, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.{CaseInsensitiveMap, DateTimeUtils}
import org.apache.spark.sql.execution.datasources._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, DateType, StructType, TimestampType}

/** Times that are written without a zone, in files of text and in the names of folders, mean one and the same to policies.
  *
  * Spark takes them for times of the session's zone. That is for users to set, as they like to see times in their own; so
  * these are read in the zone that the session had when it was bound to its user, or in the table's own.
  */
object Zones {
  def of(binding: Binding): String = {
    val key = SQLConf.SESSION_LOCAL_TIMEZONE.key
    binding.settings.get(key).orElse(Streams.usual(key)).getOrElse(Build.broken("there is no time zone"))
  }

  /** The plan with files of text read in this zone, whatever the session is set to by the time they are. */
  def in(zone: String, plan: LogicalPlan): LogicalPlan = changed(plan, texts) { files =>
    files.copy(options = files.options + (DateTimeUtils.TIMEZONE_OPTION -> own(files).getOrElse(zone)))(files.sparkSession)
  }

  /** The plan with the names of folders read now, and a refusal if they were read in another zone.
    *
    * Spark reads them when it finds a table's columns, and keeps what it read; those of the catalog it reads as late as
    * when the query runs. A session may have another zone by then, or have had one.
    */
  def folders(zone: String, plan: LogicalPlan): LogicalPlan = changed(plan, divided) { files =>
    val index = files.location match {
      case catalog: CatalogFileIndex => catalog.filterPartitions(Nil)
      case other => other
    }
    index match {
      case found: PartitioningAwareFileIndex if !found.partitionSpec().partitions.forall(as(own(files).getOrElse(zone), files.partitionSchema, _)) =>
        throw Hook.refused("a table is divided by times, which another time zone moves; make the frame again in the zone that your session began with")
      case _ => files.copy(location = index)(files.sparkSession)
    }
  }

  private def texts(files: HadoopFsRelation): Boolean = TEXTS(Names.of(files.fileFormat)) && files.dataSchema.existsRecursively(_ == TimestampType)

  /** Formats that take a zone as an option; others hold moments, or are refused in another zone (`guard/times.py`). */
  private val TEXTS = Set("JsonFileFormat", "CSVFileFormat", "XmlFileFormat")

  private def divided(files: HadoopFsRelation): Boolean = files.partitionSchema.exists(_.dataType == TimestampType)

  private def own(files: HadoopFsRelation): Option[String] = CaseInsensitiveMap(files.options).get(DateTimeUtils.TIMEZONE_OPTION)

  private def changed(plan: LogicalPlan, kind: HadoopFsRelation => Boolean)(change: HadoopFsRelation => HadoopFsRelation): LogicalPlan = {
    def asked(relation: LogicalRelation) = Some(relation.relation).collect { case files: HadoopFsRelation if kind(files) => files }
    def reads(one: LogicalPlan): Boolean = one.exists {
      case relation: LogicalRelation => asked(relation).nonEmpty
      case other => other.expressions.exists(_.exists { case subquery: SubqueryExpression => reads(subquery.plan); case _ => false })
    }
    if (!reads(plan)) plan else plan.transformWithSubqueries {
      case relation: LogicalRelation => asked(relation).map(files => relation.copy(relation = change(files))).getOrElse(relation)
    }
  }

  /** Whether times in the name of a folder were read as this zone has them. INVARIANT: what cannot be told was not. */
  private def as(zone: String, schema: StructType, folder: PartitionPath): Boolean = schema.fields.zipWithIndex.forall {
    case (field, place) => field.dataType != TimestampType || named(folder.path, field.name).exists(text => value(text, zone) == read(folder.values, place))
  }

  private def named(path: Path, name: String): Option[String] = Iterator.iterate(path)(_.getParent).takeWhile(_ != null)
    .map(_.getName.split("=", 2)).collectFirst { case Array(key, text) if unescaped(key).equalsIgnoreCase(name) => unescaped(text) }

  private def unescaped(text: String): String = ExternalCatalogUtils.unescapePathName(text)

  private def read(values: InternalRow, place: Int): Any = if (values.isNullAt(place)) null else values.getLong(place)

  /** As Spark does it: a time, or else a day. */
  private def value(text: String, zone: String): Any = {
    def cast(one: Expression, to: DataType) = Cast(one, to, Some(zone), EvalMode.TRY)
    if (text == ExternalCatalogUtils.DEFAULT_PARTITION_NAME) null
    else Option(cast(Literal(text), TimestampType).eval()).getOrElse(cast(cast(Literal(text), DateType), TimestampType).eval())
  }
}
