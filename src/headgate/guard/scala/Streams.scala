package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.ObjectNode
import java.io.FileNotFoundException
import java.util.{Collections, LinkedHashMap, UUID}
import org.apache.hadoop.fs.Path
import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.{SparkSession => AnySession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.internal.SQLConf

/** A stream that is about to be started, without what it reads: that is decided on in each micro-batch.
  *
  * `files` is where it is written to, if to files, and `checkpoint` where it keeps its state.
  */
case class StreamStart(write: WriteToStream, files: Option[Path], checkpoint: Path, resumed: Boolean) extends LeafNode {
  override def output: Seq[Attribute] = Nil
}

/** Where streams are written to and keep their state.
  *
  * INVARIANT: Spark analyses the start of every stream in the session that starts it, before anything of it runs; micro-batches
  * do not say where state is kept.
  */
object Streams {
  def check(session: AnySession): LogicalPlan => Unit = {
    case write: WriteToStream =>
      val own = session.asInstanceOf[SparkSession]
      try {
        val checkpoint = Reading.whole(own, write.resolvedCheckpointLocation)
        Hook.enforce(own, StreamStart(write, path(write.sink).map(Reading.whole(own, _)), checkpoint, resumed(own, checkpoint)))
        if (write.deleteCheckpointOnStop) passing.put(checkpoint.toString, true)
      } catch {
        case refusal: Throwable =>
          path(write.sink).foreach(one => Try(forget(own, new Path(one, LOG))))
          throw refusal
      }
    case _ =>
  }

  def describe(start: StreamStart, result: ObjectNode): Unit = {
    val write = start.write
    result.put("sink", write.sink.getClass.getName)
    start.files.foreach(one => result.put("path", one.toString))
    options(write.sink).foreach(Reading.options(_, None, result))
    val reads = result.putArray("reads")
    sources(write.inputQuery).foreach(one => Reading.options(one.options, one.catalogTable, reads.addObject()))
    if (write.catalogTable.nonEmpty || write.catalogAndIdent.nonEmpty) result.put("table", write.sink.name())
    // What Spark throws away with the query is a folder that it has just made.
    if (!write.deleteCheckpointOnStop) result.put("checkpoint", start.checkpoint.toString).put("resumed", start.resumed)
  }

  /** What a stream reads from, but for sources that read nothing but by plans. */
  private def sources(plan: LogicalPlan): Seq[DataSource] = plan.collectLeaves().collect {
    case leaf: Product if Names.of(leaf) == "StreamingRelation" => leaf.productElement(0)
  }.collect { case source: DataSource => source }

  /** The folders and patterns that the stream which runs on this thread was made of: its batches name files only.
    *
    * Its classes have other homes in other versions of Spark, so that they are found by name. Of what is not found nothing
    * is said, and the files speak for themselves.
    */
  def named(session: SparkSession): Seq[String] = Try {
    val query = running(session)
    val plan = query.getClass.getMethod("logicalPlan").invoke(query).asInstanceOf[LogicalPlan]
    plan.collectLeaves().collect { case leaf: Product if Names.of(leaf).endsWith("StreamingExecutionRelation") => leaf.productElement(0).toString }
      .filter(text => text.startsWith(SOURCE) && text.endsWith("]")).map(_.drop(SOURCE.length).dropRight(1))
  }.getOrElse(Nil)

  private val SOURCE = "FileStreamSource["

  /** The stream that runs on this thread. */
  private def running(session: SparkSession): AnyRef =
    session.sharedState.activeStreamingQueries.get(UUID.fromString(session.sparkContext.getLocalProperty(QUERY)))

  private val QUERY = "sql.streaming.queryId"

  /** Folders for state that Spark has made itself, and throws away with the stream; the oldest are forgotten. */
  private val passing = Collections.synchronizedMap(new LinkedHashMap[String, Boolean] {
    override def removeEldestEntry(eldest: java.util.Map.Entry[String, Boolean]): Boolean = size > MOST
  })
  private val MOST = 100000

  /** Whether the stream that runs on this thread keeps its state in a folder that stays; what cannot be told stays. */
  def kept(session: SparkSession): Boolean = session.sparkContext.getLocalProperty(QUERY) != null && !Try {
    val query = running(session)
    val place = query.getClass.getMethod("resolvedCheckpointRoot").invoke(query).toString
    passing.containsKey(Reading.whole(session, place).toString)
  }.getOrElse(false)

  /** Why the stream that runs on this thread, if one does, may not go on with its trigger.
    *
    * INVARIANT: a batch is of rows that were there when it was decided on. Where it takes in what comes meanwhile, a change of
    * policies would be followed long after.
    */
  def late(session: SparkSession): Option[String] = Option.when(session.sparkContext.getLocalProperty(QUERY) != null && !Try {
    val query = running(session)
    TRIGGERS(query.getClass.getMethod("trigger").invoke(query).getClass.getSimpleName.stripSuffix("$"))
  }.getOrElse(false))(LATE)

  private[sql] val LATE = "streams with the triggers `continuous` and `realTime` are not decided on anew for rows that come later; use `processingTime` or `availableNow`"

  private val TRIGGERS = Set("ProcessingTimeTrigger", "OneTimeTrigger", "AvailableNowTrigger")

  /** Where a sink for files puts them. It keeps that to itself, but for its text. */
  private def path(sink: Table): Option[String] =
    Option(sink.toString).filter(text => FILES(sink.getClass.getName) && text.startsWith("FileSink[") && text.endsWith("]")).map(_.drop(9).dropRight(1))

  /** What a sink for files was told: it goes to Hadoop with every batch. */
  private def options(sink: Table): Option[Map[String, String]] = Option(sink).filter(one => FILES(one.getClass.getName)).flatMap(one => Try {
    val field = one.getClass.getDeclaredField("options")
    field.setAccessible(true)
    field.get(one).asInstanceOf[Map[String, String]]
  }.toOption)

  private val FILES = Set("streaming.sinks", "streaming").map(home => s"org.apache.spark.sql.execution.$home.FileStreamSink")

  /** Whether something is there already; what cannot be told is. */
  private def resumed(session: SparkSession, place: Path): Boolean =
    Try(place.getFileSystem(session.sessionState.newHadoopConf()).listStatus(place)) match {
      case Success(found) => found.nonEmpty
      case Failure(_: FileNotFoundException) => false
      case Failure(_) => true
    }

  /** What a setting is if nobody sets it: a stream that is gone on with sets many of them to what they were, and are. */
  def usual(key: String): Option[String] = Try(Option(untouched.getConfString(key))).toOption.flatten.filter(_.nonEmpty)

  private val untouched = new SQLConf

  private val LOG = "_spark_metadata"

  /** A sink makes its log when it is made itself, before anybody is asked, and a folder with an empty log looks empty. */
  private def forget(session: SparkSession, log: Path): Unit = {
    val files = log.getFileSystem(session.sessionState.newHadoopConf())
    if (files.listStatus(log).isEmpty) files.delete(log, false)
  }
}
