package org.apache.spark.sql.connect.headgate

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import scala.jdk.CollectionConverters._

import org.apache.spark.connect.proto.ExecutePlanResponse

/** The progress of a stream as its user gets it: which batches brought rows, when, and how many.
  *
  * What Spark reports counts and places what was read, hidden rows and their files included, and how long that took. A
  * batch in which everything was hidden is none to the user, so batches are counted anew.
  */
object Progress {
  private val json = new ObjectMapper()
  private val kept = Seq("id", "runId", "name", "timestamp")

  /** What a stream is at, in words of Spark's that are always the same. */
  private val stages = Set(
    "Initializing StreamExecution", "Initializing sources", "Writing offsets to log", "Processing new data", "No new data but cleaning up state",
    "Waiting for data to arrive", "Waiting for next trigger", "Starting new streaming query", "Running", "Stopped")

  /** Behind these stands which folder or topic it is, or an error with the value it is about. */
  private val beginnings = Seq("Getting offsets", "Terminated with exception")

  /** The status of a stream. What a newer Spark says there is left out until somebody has looked at it. */
  def stated(response: ExecutePlanResponse): ExecutePlanResponse = {
    val changed = response.toBuilder
    val status = changed.getStreamingQueryCommandResultBuilder.getStatusBuilder
    val said = status.getStatusMessage
    status.setStatusMessage(if (stages(said)) said else beginnings.find(one => said.startsWith(one)).getOrElse(""))
    changed.build()
  }

  def scrubbed(response: ExecutePlanResponse): ExecutePlanResponse = {
    val changed = response.toBuilder
    val progress = changed.getStreamingQueryCommandResultBuilder.getRecentProgressBuilder
    val brought = progress.getRecentProgressJsonList.asScala.map(json.readTree).filter(_.path("sink").path("numOutputRows").asLong(0) != 0)
    val shown = brought.zipWithIndex.map { case (one, number) =>
      val entry = json.createObjectNode()
      kept.foreach(key => entry.set[ObjectNode](key, one.path(key)))
      entry.put("batchId", number).put("batchDuration", 0)
      entry.putArray("stateOperators")
      entry.putArray("sources")
      val sink = entry.putObject("sink").put("description", "")
      sink.set[ObjectNode]("numOutputRows", one.path("sink").path("numOutputRows"))
      json.writeValueAsString(entry)
    }
    progress.clearRecentProgressJson().addAllRecentProgressJson(shown.asJava)
    changed.build()
  }
}
