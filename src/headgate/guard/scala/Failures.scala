package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.google_protos.rpc.{ErrorInfo, Status => RpcStatus}
import org.sparkproject.connect.protobuf.Any

import org.apache.spark.connect.proto.{ExecutePlanResponse, FetchErrorDetailsResponse}

/** What users are told of failures: what is wrong with a query in words, what went wrong while it ran as a code.
  *
  * A message about a value shows it, and one about a file its place. Behind the words about a plan Spark prints the plan,
  * with what lasting views are made of, and in the details where in the server it was.
  */
object Failures {
  private val kept = Set("classes", "errorClass", "sqlState")

  /** Errors of analysis are about names and types, and refusals are ours. */
  private val ANALYSIS = "AnalysisException"

  def told(status: RpcStatus, info: ErrorInfo): RpcStatus =
    if (info.getMetadataOrDefault("classes", info.getReason).contains(ANALYSIS)) status.toBuilder.setMessage(planless(status.getMessage)).build()
    else coded(status, info)

  def told(response: FetchErrorDetailsResponse): FetchErrorDetailsResponse =
    if (response.getErrorsCount == 0) response
    else {
      val first = response.getErrors(response.getRootErrorIdx).toBuilder.clearStackTrace().clearCauseIdx()
      if (first.getErrorTypeHierarchyList.asScala.exists(_.contains(ANALYSIS))) first.setMessage(planless(first.getMessage))
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
