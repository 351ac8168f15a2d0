package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}
import java.net.URI
import org.apache.hadoop.fs.{FileSystem, Path}
import scala.collection.mutable
import scala.util.Try

import org.apache.spark.Partition
import org.apache.spark.sql.catalyst.catalog.{CatalogTable, ExternalCatalogUtils}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.{FileIndex, HadoopFsRelation, PartitioningAwareFileIndex}
import org.apache.spark.sql.execution.datasources.jdbc.{JDBCPartition, JDBCRelation}
import org.apache.spark.sql.types.{DataType, StructType}

/** What a reader has chosen: which columns come from the names of folders, which values stand for what is missing, which
  * options differ from the table's own.
  */
object Reading {

  /** How files that were named by path are read. */
  def describe(index: FileIndex, schema: StructType, result: ObjectNode): Unit = {
    result.set[ArrayNode]("partitions", texts(index.partitionSchema.fieldNames.toSeq))
    result.set[ArrayNode]("below", texts(keys(index).toSeq.sorted))
    val marked = schema.fields.filter(one => MARKS.exists(one.metadata.contains) || one.dataType.existsRecursively(marks)).map(_.name)
    if (marked.nonEmpty) result.set[ArrayNode]("marked", texts(marked.toSeq))
    val filled = schema.fields.filter(one => Padding.needed(one.metadata)).map(_.name)
    if (filled.nonEmpty) result.set[ArrayNode]("filled", texts(filled.toSeq))
  }

  /** Where the catalog has a table that is read, beside where its files are looked for. Parts of it may be elsewhere; there
    * can be many, so that the catalog is asked for them only if something else is read than the table's own place.
    */
  def home(files: HadoopFsRelation, table: CatalogTable, result: ObjectNode): Unit = {
    val session = files.sparkSession.asInstanceOf[SparkSession]
    val place = table.storage.locationUri.map(qualified(session, _))
    val roots = files.location.rootPaths.map(root => qualified(session, root.toUri))
    result.set[ArrayNode]("paths", texts(roots))
    place.foreach(result.put("home", _))
    if (table.partitionColumnNames.nonEmpty && !roots.forall(root => place.exists(one => s"$root/".startsWith(s"$one/")))) {
      val parts = Try(session.sessionState.catalog.listPartitions(table.identifier)).getOrElse(Nil)
      result.set[ArrayNode]("elsewhere", texts(parts.flatMap(_.storage.locationUri).map(qualified(session, _))))
    }
  }

  private def qualified(session: SparkSession, place: URI): String = {
    val path = new Path(place)
    path.getFileSystem(session.sparkContext.hadoopConfiguration).makeQualified(path).toString
  }

  private def marks(kind: DataType): Boolean = kind match {
    case row: StructType => row.fields.exists(one => MARKS.exists(one.metadata.contains))
    case _ => false
  }

  /** Marks of a column by which a reader puts in a value, or takes another column of the file. */
  private val MARKS = Seq("EXISTS_DEFAULT", "parquet.field.id")

  /** The keys of folders such as `dept=B` between what is named and what is read. */
  private def keys(index: FileIndex): Set[String] = index match {
    case found: PartitioningAwareFileIndex =>
      val named = found.rootPaths.toSet
      val seen = mutable.Set.empty[Path]
      val keys = mutable.Set.empty[String]
      found.allFiles().foreach { file =>
        var one = file.getPath
        while (one != null && !named(one) && seen.add(one)) {
          val place = one.getName.indexOf('=')
          if (place > 0) keys += ExternalCatalogUtils.unescapePathName(one.getName.substring(0, place))
          one = one.getParent
        }
      }
      keys.toSet - ""
    case _ => Set("?") // of an index that is not known nothing can be said, and no table has such a column
  }

  /** Options with which something is read, but for those that are the table's own. */
  def options(given: Map[String, String], table: Option[CatalogTable], result: ObjectNode): Unit = {
    val own = table.toSeq.flatMap(one => one.properties ++ one.storage.properties).map { case (key, value) => key.toLowerCase -> value }.toMap
    val known = result.putObject("options")
    given.toSeq.map { case (key, value) => key.toLowerCase -> value }.sorted
      .foreach { case (key, value) => if (!own.get(key).contains(value)) known.put(key, value) }
  }

  /** Where a table's files are and how they are to be read: place, format, columns in the names of folders, options. */
  def place(table: CatalogTable, location: URI, result: ArrayNode): Unit = {
    result.add(new Path(location).toString).add(Sources.format(table))
    result.add(texts(table.partitionColumnNames))
    val options = result.addObject()
    if (!table.provider.forall(_.toLowerCase == "hive")) table.storage.properties.foreach { case (key, value) => options.put(key.toLowerCase, value) }
  }

  /** Whether a database table is divided by clauses other than those that Spark makes of its `partitionColumn`. */
  def divided(relation: JDBCRelation): Boolean = {
    val session = relation.sparkSession.sessionState.conf
    def made = JDBCRelation.columnPartition(relation.schema, session.resolver, session.sessionLocalTimeZone, relation.jdbcOptions)
    def clauses(parts: Array[Partition]) = parts.toSeq.map { case JDBCPartition(clause, _) => Option(clause); case _ => Some("?") }
    val given = clauses(relation.parts)
    given.exists(_.nonEmpty) && !Try(clauses(made)).toOption.contains(given)
  }

  /** A path that somebody wrote, as Hadoop understands it. */
  def whole(session: SparkSession, text: String): Path = {
    val path = new Path(text)
    if (path.toUri.getScheme == null) FileSystem.get(session.sparkContext.hadoopConfiguration).makeQualified(path) else path
  }

  def texts(values: Seq[String]): ArrayNode = {
    val result = JsonNodeFactory.instance.arrayNode()
    values.foreach(result.add(_))
    result
  }
}
