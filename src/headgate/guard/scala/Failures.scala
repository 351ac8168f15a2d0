package org.apache.spark.sql.connect.headgate

import com.fasterxml.jackson.databind.ObjectMapper
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.sparkproject.connect.google_protos.rpc.{ErrorInfo, Status => RpcStatus}
import org.sparkproject.connect.protobuf.Any

import org.apache.spark.SparkThrowableHelper
import org.apache.spark.connect.proto.{ExecutePlanResponse, FetchErrorDetailsResponse}

/** What users are told of failures: what is wrong with a query in words, what went wrong while it ran as a code.
  *
  * A message about a value shows it, and one about a file its place. Behind the words about a plan Spark prints the plan,
  * with what lasting views are made of, and in the details where in the server it was. Some words have a plan in their midst.
  */
object Failures {
  private val kept = Set("classes", "errorClass", "sqlState")

  /** Errors of analysis are about names and types, and refusals are ours. */
  private val ANALYSIS = "AnalysisException"

  def told(status: RpcStatus, info: ErrorInfo): RpcStatus =
    if (info.getMetadataOrDefault("classes", info.getReason).contains(ANALYSIS)) analysed(status, info)
    else coded(status, info)

  def told(response: FetchErrorDetailsResponse): FetchErrorDetailsResponse =
    if (response.getErrorsCount == 0) response
    else {
      val first = response.getErrors(response.getRootErrorIdx).toBuilder.clearStackTrace().clearCauseIdx()
      if (first.getErrorTypeHierarchyList.asScala.exists(_.contains(ANALYSIS))) analysed(first)
      else first.setMessage(text(first.getErrorTypeHierarchyList.asScala.headOption.getOrElse("").split('.').last, None)).clearSparkThrowable()
      response.toBuilder.clearErrors().addErrors(first).setRootErrorIdx(0).build()
    }

  /** The failure of a stream. */
  def told(response: ExecutePlanResponse): ExecutePlanResponse = {
    val changed = response.toBuilder
    val exception = changed.getStreamingQueryCommandResultBuilder.getExceptionBuilder
    val code = if (exception.hasErrorClass) exception.getErrorClass else "STREAM_FAILED"
    // Clients cut off the name of the exception before the first colon.
    exception.setExceptionMessage(s"StreamingQueryException: ${text(code, None)}").clearStackTrace()
    changed.build()
  }

  private def analysed(status: RpcStatus, info: ErrorInfo): RpcStatus = {
    val said = Option(info.getMetadataMap.get(PARAMETERS)).flatMap(text => Try(json.readTree(text)).toOption)
    val parameters = said.map(_.fields().asScala.map(one => one.getKey -> one.getValue.asText).toMap)
    // Beside parameters that are too long, the kind is not told either.
    val kind = Option(info.getMetadataMap.get("errorClass")).orElse(KIND.findFirstMatchIn(status.getMessage).map(_.group(1)))
    reworded(kind, parameters) match {
      case None => status.toBuilder.setMessage(planless(status.getMessage)).build()
      case Some((text, rest)) =>
        val changed = info.toBuilder.putMetadata(PARAMETERS, json.writeValueAsString(rest.asJava)).build()
        status.toBuilder.setMessage(text).clearDetails().addDetails(Any.pack(changed)).build()
    }
  }

  private def analysed(error: FetchErrorDetailsResponse.Error.Builder): Unit = {
    error.setMessage(planless(error.getMessage))
    if (error.hasSparkThrowable) {
      val thrown = error.getSparkThrowableBuilder
      val own = thrown.getQueryContextsList.asScala.filter(_.getObjectType.isEmpty) // the others show the text of a view
      thrown.clearQueryContexts().addAllQueryContexts(own.asJava)
      reworded(Option.when(thrown.hasErrorClass)(thrown.getErrorClass), Some(thrown.getMessageParametersMap.asScala.toMap)).foreach { case (text, rest) =>
        error.setMessage(text)
        thrown.clearMessageParameters().putAllMessageParameters(rest.asJava)
      }
    }
  }

  private val KIND = "^\\[([A-Z0-9_.]+)\\]".r
  private val PARAMETERS = "messageParameters"
  private val LEFT_OUT = "..."
  private val PLANS = Set("treeNode", "plan", "leftPlan", "rightPlan", "outerPlan", "subplan")
  private val json = new ObjectMapper()

  /** The words of a kind of error without the plans among its parameters, and these; nothing if there are none. Parameters
    * that are not there were too long to be sent, as plans are.
    */
  private def reworded(kind: Option[String], parameters: Option[Map[String, String]]): Option[(String, Map[String, String])] =
    kind.filter(SparkThrowableHelper.isValidErrorClass).flatMap { one =>
      val names = SparkThrowableHelper.getMessageParameters(one)
      val rest = parameters.getOrElse(names.map(_ -> LEFT_OUT).toMap).map { case (name, value) => name -> (if (printed(name, value)) LEFT_OUT else value) }
      def text = Try(SparkThrowableHelper.getMessage(one, rest)).getOrElse(s"[$one]")
      Option.when(names.nonEmpty && !parameters.contains(rest))((text, rest))
    }

  /** Whether a parameter is a plan, or a part of one: only there columns have numbers. */
  private def printed(name: String, value: String): Boolean =
    PLANS(name) || value.contains('\n') || NUMBERED.findFirstIn(value).nonEmpty || value.regionMatches(true, 0, MAKING, 0, MAKING.length)

  /** How to make a view again is what it is made of. */
  private val MAKING = "CREATE "

  private val NUMBERED = "#\\d".r

  /** Spark puts a plan behind a semicolon at the end of a line. */
  private def planless(message: String): String = message.split(";\n", 2).head

  private def coded(status: RpcStatus, info: ErrorInfo): RpcStatus = {
    val rest = info.getMetadataMap.asScala.filter { case (key, _) => kept(key) }
    val code = rest.getOrElse("errorClass", info.getReason.split('.').last)
    val plain = info.toBuilder.clearMetadata().putAllMetadata(rest.asJava).build()
    status.toBuilder.setMessage(text(code, rest.get("sqlState"))).clearDetails().addDetails(Any.pack(plain)).build()
  }

  private def text(code: String, state: Option[String]): String =
    s"[$code] The query failed while it ran${state.map(one => s" (SQLSTATE $one)").getOrElse("")}. Values are not shown."
}
