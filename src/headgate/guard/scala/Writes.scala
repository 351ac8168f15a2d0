package org.apache.spark.sql.connect.headgate

import com.fasterxml.jackson.databind.node.{JsonNodeFactory, ObjectNode}
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.connect.proto.{CheckpointCommand, ExecutePlanRequest, WriteStreamOperationStart}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.headgate.{Hook, Reading, Streams}

/** What a client asks to be written, and where to. Spark makes the source and the file system that are named, with the
  * options that are given, before there is a plan to decide on; what could never be permitted does not get that far.
  */
object Writes {
  /** Why a request is not let in, if it is not. */
  def refusal(session: SparkSession, request: ExecutePlanRequest): Option[String] = {
    val command = request.getPlan.getCommand
    if (command.hasWriteOperation) {
      val asked = command.getWriteOperation
      val table = Option.when(asked.hasTable)(asked.getTable.getTableName)
      ask(session, asked.getSource, asked.getOptionsMap.asScala.toMap, Option.when(asked.hasPath)(asked.getPath), table)
    } else if (command.hasWriteOperationV2) {
      val asked = command.getWriteOperationV2
      ask(session, asked.getProvider, asked.getOptionsMap.asScala.toMap, None, Some(asked.getTableName))
    } else if (command.hasWriteStreamOperationStart) {
      val asked = command.getWriteStreamOperationStart
      val table = Option.when(asked.hasTableName)(asked.getTableName)
      late(asked).orElse(ask(session, asked.getFormat, asked.getOptionsMap.asScala.toMap, Option.when(asked.hasPath)(asked.getPath), table))
    } else if (command.hasCheckpointCommand) unkept(command.getCheckpointCommand)
    else None
  }

  /** Why a stream is not started with its trigger, if it is not. By name, as not every protocol has all of them. */
  private def late(asked: WriteStreamOperationStart): Option[String] =
    Option.when(asked.getAllFields.keySet.asScala.exists(one => LATE(one.getName)))(Streams.LATE)

  private val LATE = Set("continuous_checkpoint_interval", "real_time_batch_duration")

  /** Why the rows of a frame are not kept, if they are not.
    *
    * INVARIANT: they are those that are given out now. Kept later, they would be what is decided now, whatever is then.
    */
  private def unkept(asked: CheckpointCommand): Option[String] =
    if (!asked.getLocal) Some("checkpoints are not written to files; use `localCheckpoint()`")
    else if (!asked.getEager) Some("a checkpoint is made at once; leave out `eager`")
    else None

  private def ask(session: SparkSession, format: String, options: Map[String, String], path: Option[String], table: Option[String]): Option[String] = {
    val json = JsonNodeFactory.instance.objectNode()
    json.put("kind", "write").put("format", format)
    table.foreach(json.put("table", _))
    val known = json.putObject("options")
    options.foreach { case (key, value) => known.put(key, value) }
    def named(key: String) = options.toSeq.collect { case (one, value) if one.equalsIgnoreCase(key) => value }
    val placed = Try {
      places(session, json, "paths", path.filter(_.nonEmpty).toSeq ++ named("path"))
      places(session, json, "checkpoints", named("checkpointLocation"))
    }
    if (placed.isFailure) Some("the path cannot be looked at") else Hook.beforehand(session, json.toString)
  }

  private def places(session: SparkSession, json: ObjectNode, key: String, paths: Seq[String]): Unit = {
    val list = json.putArray(key)
    paths.foreach(one => list.add(Reading.whole(session, one).toString))
  }
}
