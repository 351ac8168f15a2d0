package org.apache.spark.sql.connect.headgate

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import scala.jdk.CollectionConverters._

import org.apache.spark.connect.proto.ExecutePlanResponse

/** The progress of a stream as its user gets it: which batches brought rows, when, and how many.
  *
  * What Spark reports counts and places what was read, hidden rows and their files included, and how long that took. A
  * batch in which everything was hidden is none to the user, so batches are counted anew. INVARIANT: so is one of which it
  * is not known: rows that are written to files are not counted, and Spark says -1 of a batch that ran.
  */
object Progress {
  private val json = new ObjectMapper()
  private val kept = Seq("id", "runId", "name", "timestamp")

  /** How a stream begins and ends, in words of Spark's. Behind the last ones stands an error with the value it is about. */
  private val stages = Seq("Initializing StreamExecution", "Initializing sources", "Starting new streaming query", "Stopped", "Terminated with exception")

  /** The status of a stream: whether it begins, runs or has ended. What it is at meanwhile tells of batches, also of those in
    * which everything was hidden.
    */
  def stated(response: ExecutePlanResponse): ExecutePlanResponse = {
    val changed = response.toBuilder
    val status = changed.getStreamingQueryCommandResultBuilder.getStatusBuilder
    val said = status.getStatusMessage
    status.setStatusMessage(stages.find(one => said.startsWith(one)).getOrElse("Running")).setIsDataAvailable(false).setIsTriggerActive(false)
    changed.build()
  }

  def scrubbed(response: ExecutePlanResponse): ExecutePlanResponse = {
    val changed = response.toBuilder
    val progress = changed.getStreamingQueryCommandResultBuilder.getRecentProgressBuilder
    val brought = progress.getRecentProgressJsonList.asScala.map(json.readTree).filter(_.path("sink").path("numOutputRows").asLong(0) > 0)
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
