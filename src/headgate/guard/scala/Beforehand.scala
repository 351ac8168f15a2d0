package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.{SparkSession => AnySession}
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.analysis.{RelationTimeTravel, UnresolvedRegex, UnresolvedRelation}
import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Call, InsertIntoStatement, LogicalPlan, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.datasources.{DataSource, FileFormat}
import org.apache.spark.sql.execution.datasources.jdbc.JdbcRelationProvider
import org.apache.spark.sql.execution.datasources.v2.FileDataSourceV2
import org.apache.spark.sql.sources.DataSourceRegister

/** What is refused before Spark finds out what the names in a plan stand for: asking for its columns is enough for that.
  *
  * A rule about hints, because these are resolved before everything else.
  */
class Beforehand(session: AnySession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    Beforehand.check(session.asInstanceOf[SparkSession], plan)
    plan
  }
}

object Beforehand {
  /** Whether the parser puts values of the environment, of Java and of settings into the text of a query. */
  val SUBSTITUTE = "spark.sql.variable.substitute"

  private val MADE = Set("CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect")

  private def check(session: SparkSession, plan: LogicalPlan): Unit = {
    if (session.sessionState.conf.variableSubstituteEnabled) throw Hook.refused(s"the setting `$SUBSTITUTE` may not be changed; set it to false")
    plan.foreachWithSubqueries {
      case relation: UnresolvedRelation => named(session, relation.multipartIdentifier, relation.options.asCaseSensitiveMap().asScala.toMap)
      case travel: RelationTimeTravel =>
        // Early versions of Spark run such a query at once, and ask nobody.
        if (travel.timestamp.exists(SubqueryExpression.hasSubquery)) throw Hook.refused("a subquery cannot say as of when a table is read; give the time")
        check(session, travel.relation)
      // INVARIANT: the table is no child of it, and is looked for with options that the user gives.
      case _: InsertIntoStatement => throw Hook.refused("tables may not be written; write to a folder of `writable`")
      case write: V2WriteCommand if !write.table.resolved => throw Hook.refused("tables may not be written; write to a folder of `writable`")
      // It is done while it is analysed, and what is left of it are rows.
      case _: Call => throw Hook.refused("procedures may not be called")
      // What they are made of is the name of a class, which is made to see what it can do.
      case made if MADE(Names.of(made)) => throw Hook.refused("tables may not be made; write to a folder of `writable`")
      // Not every version of Spark has this class.
      case other if Names.of(other) == "UnresolvedDataSource" => other.productIterator.toSeq match {
        case Seq(format: String, schema: Option[_], options: Map[_, _], _, paths: Seq[_]) =>
          source(session, format, schema.nonEmpty, texts(options), paths.map(_.toString))
        case _ => throw Hook.refused("this source cannot be looked at")
      }
      case _ =>
    }
    plan.foreachWithSubqueries { one =>
      Functions.check(session, one)
      one.expressions.foreach(_.foreach(columns))
    }
  }

  /** Java matches names of columns while a plan is analysed, and does not notice that it was told to stop. */
  private def columns(one: Expression): Unit = one match {
    case regex: UnresolvedRegex if Patterns.ofColumns(regex.regexPattern) =>
      throw Hook.refused(s"the pattern `${regex.regexPattern}` of names of columns has more than one repetition or choice; name the columns")
    case _ =>
  }

  private def texts(options: Map[_, _]): Map[String, String] = options.asInstanceOf[Map[String, String]].iterator.toMap

  /** A name in two parts may be a format and a path, if there is no such table. */
  private def named(session: SparkSession, name: Seq[String], options: Map[String, String]): Unit = name match {
    // To look for a format takes Spark longer than to look for a table.
    case Seq(format, path) if !exists(session, TableIdentifier(path, Some(format))) && kind(session, format)._1 == "files" =>
      source(session, format, false, options, Seq(path))
    case _ => if (options.nonEmpty) table(session, name, options)
  }

  /** Options beside the name of a table, but for those that are its own: what files are listed with and databases are told. */
  private def table(session: SparkSession, name: Seq[String], options: Map[String, String]): Unit = {
    val found = Hook.sessionTable(name).flatMap(one => Try(session.sessionState.catalog.getTableMetadata(one)).toOption)
    val json = JsonNodeFactory.instance.objectNode()
    json.put("kind", "table").put("name", name.mkString("."))
    once(options)
    Reading.options(options, found, json)
    ask(session, json)
  }

  private def exists(session: SparkSession, name: TableIdentifier): Boolean = Try(session.sessionState.catalog.tableExists(name)).getOrElse(false)

  private def source(session: SparkSession, format: String, schema: Boolean, options: Map[String, String], paths: Seq[String]): Unit = {
    once(options)
    val json = JsonNodeFactory.instance.objectNode()
    val (found, name) = kind(session, format)
    json.put("kind", found).put("format", name).put("schema", schema)
    val places = json.putArray("paths")
    val asked = paths ++ options.collect { case (key, value) if key.equalsIgnoreCase("path") => value }
    asked.foreach(one => places.add(looked(session, one)))
    val known = json.putObject("options")
    options.foreach { case (key, value) => known.put(key, value) }
    options.collect { case (key, value) if key.equalsIgnoreCase("basePath") => json.put("base", looked(session, value)) }
    ask(session, json)
  }

  /** INVARIANT: of two spellings of one option, which one counts is for Spark to say, by the order of a map. */
  private def once(options: Map[String, String]): Unit =
    options.keys.groupBy(_.toLowerCase).collect { case (key, same) if same.size > 1 => throw Hook.refused(s"the option `$key` is given in two spellings; give it once") }

  private def ask(session: SparkSession, source: ObjectNode): Unit = Hook.beforehand(session, source.toString).foreach(why => throw Hook.refused(why))

  /** What a format is, and its name; one that Spark does not find is called as the user calls it. */
  private def kind(session: SparkSession, format: String): (String, String) =
    Try(DataSource.lookupDataSource(format, session.sessionState.conf)).toOption match {
      case Some(files) if classOf[FileFormat].isAssignableFrom(files) || classOf[FileDataSourceV2].isAssignableFrom(files) =>
        val name = Try(files.getDeclaredConstructor().newInstance()).collect { case one: DataSourceRegister => one.shortName() }
        ("files", name.getOrElse(format))
      case Some(other) if classOf[JdbcRelationProvider].isAssignableFrom(other) => ("jdbc", "jdbc")
      case _ => ("other", format)
    }

  private def looked(session: SparkSession, path: String): String = Try(place(session, path)).getOrElse(throw Hook.refused("the path cannot be looked at"))

  /** A path as Hadoop understands it: whole, and without what only makes it look different. */
  private def place(session: SparkSession, text: String): String = {
    val whole = Reading.whole(session, text)
    if (whole.toUri.getScheme == "file") whole.toUri.getPath else whole.toString
  }
}
