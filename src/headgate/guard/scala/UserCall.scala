package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.google_protos.rpc.{ErrorInfo, Status => RpcStatus}
import org.sparkproject.connect.grpc.{Metadata, ServerCall, Status}
import org.sparkproject.connect.grpc.ForwardingServerCall.SimpleForwardingServerCall
import org.sparkproject.connect.grpc.protobuf.StatusProto
import org.sparkproject.connect.protobuf.Any

import org.apache.spark.connect.proto.{AnalyzePlanResponse, ExecutePlanResponse}

/** What users get of errors, plans, measures and progress.
  *
  * What is wrong with a query is told in words, what went wrong while it ran as a code: a message about a value shows it,
  * and one about a file its place.
  */
class UserCall[Request, Response](call: ServerCall[Request, Response], user: String) extends SimpleForwardingServerCall[Request, Response](call) {
  private var stopped = false

  /** The execution that is asked about, if one is. */
  @volatile private[headgate] var operation = ""

  override def close(status: Status, trailers: Metadata): Unit = if (!stopped) Limits.reason(operation) match {
    case Some(why) if !status.isOk => super.close(Status.PERMISSION_DENIED.withDescription(why), new Metadata())
    case _ => closeScrubbed(status, trailers)
  }

  private def closeScrubbed(status: Status, trailers: Metadata): Unit = {
    val found = if (status.isOk) null else StatusProto.fromStatusAndTrailers(status, trailers)
    val info = Option(found).flatMap(_.getDetailsList.asScala.find(_.is(classOf[ErrorInfo]))).map(_.unpack(classOf[ErrorInfo]))
    info.filterNot(UserCall.inWords) match {
      case None => super.close(status, trailers)
      case Some(one) =>
        val coded = StatusProto.toStatusRuntimeException(UserCall.coded(found, one))
        super.close(coded.getStatus, coded.getTrailers)
    }
  }

  override def sendMessage(message: Response): Unit = message match {
    case one: ExecutePlanResponse if (one.hasMetrics || one.hasExecutionProgress) && !administers => sendMessage(UserCall.unmeasured(one).asInstanceOf[Response])
    case one: ExecutePlanResponse if one.hasStreamingQueryCommandResult && one.getStreamingQueryCommandResult.hasException =>
      super.sendMessage(UserCall.coded(one).asInstanceOf[Response])
    case one: ExecutePlanResponse if one.hasStreamingQueryCommandResult && one.getStreamingQueryCommandResult.hasRecentProgress && !administers =>
      super.sendMessage(Progress.scrubbed(one).asInstanceOf[Response])
    // INVARIANT: a plan as Spark prints it is for administrators, whichever way it came here.
    case one: AnalyzePlanResponse if one.hasExplain && !administers =>
      stopped = true
      super.close(Status.PERMISSION_DENIED.withDescription("refused by the guard: the plan is not shown"), new Metadata())
    case other => super.sendMessage(other)
  }

  private def administers: Boolean = ConnectGuard.administers(user)
}

object UserCall {
  private val kept = Set("classes", "errorClass", "sqlState")

  /** Errors of analysis are about names and types, and refusals are ours. */
  private def inWords(info: ErrorInfo): Boolean = info.getMetadataOrDefault("classes", info.getReason).contains("AnalysisException")

  private def coded(status: RpcStatus, info: ErrorInfo): RpcStatus = {
    val rest = info.getMetadataMap.asScala.filter { case (key, _) => kept(key) }
    val code = rest.getOrElse("errorClass", info.getReason.split('.').last)
    val plain = info.toBuilder.clearMetadata().putAllMetadata(rest.asJava).build()
    status.toBuilder.setMessage(text(code, rest.get("sqlState"))).clearDetails().addDetails(Any.pack(plain)).build()
  }

  private def coded(response: ExecutePlanResponse): ExecutePlanResponse = {
    val changed = response.toBuilder
    val exception = changed.getStreamingQueryCommandResultBuilder.getExceptionBuilder
    val code = if (exception.hasErrorClass) exception.getErrorClass else "STREAM_FAILED"
    // Clients cut off the name of the exception before the first colon.
    exception.setExceptionMessage(s"StreamingQueryException: ${text(code, None)}").clearStackTrace()
    changed.build()
  }

  /** Without what Spark counted and timed on the way, hidden rows and their files included. The answer itself stays in its
    * place: clients count answers.
    */
  private def unmeasured(response: ExecutePlanResponse): ExecutePlanResponse = response.toBuilder.clearMetrics().clearExecutionProgress().build()

  private def text(code: String, state: Option[String]): String =
    s"[$code] The query failed while it ran${state.map(one => s" (SQLSTATE $one)").getOrElse("")}. Values are not shown."
}
