package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.google_protos.rpc.ErrorInfo
import org.sparkproject.connect.grpc.{Metadata, ServerCall, Status}
import org.sparkproject.connect.grpc.ForwardingServerCall.SimpleForwardingServerCall
import org.sparkproject.connect.grpc.protobuf.StatusProto

import org.apache.spark.connect.proto.{AnalyzePlanResponse, ExecutePlanResponse, FetchErrorDetailsResponse}

/** What users get of failures, plans, measures and progress. */
class UserCall[Request, Response](call: ServerCall[Request, Response], user: String) extends SimpleForwardingServerCall[Request, Response](call) {
  private var stopped = false

  /** The execution or the analysis that is asked about, by the name that `Limits` knows it by, if one is. */
  @volatile private[headgate] var operation = ""

  override def close(status: Status, trailers: Metadata): Unit = if (!stopped) Limits.reason(operation) match {
    case Some(why) if !status.isOk => super.close(Status.PERMISSION_DENIED.withDescription(why), new Metadata())
    case _ => closeScrubbed(status, trailers)
  }

  private def closeScrubbed(status: Status, trailers: Metadata): Unit = {
    val found = if (status.isOk) null else StatusProto.fromStatusAndTrailers(status, trailers)
    Option(found).flatMap(_.getDetailsList.asScala.find(_.is(classOf[ErrorInfo]))).map(_.unpack(classOf[ErrorInfo])) match {
      case None => super.close(status, trailers)
      case Some(one) =>
        val told = StatusProto.toStatusRuntimeException(Failures.told(found, one))
        super.close(told.getStatus, told.getTrailers)
    }
  }

  override def sendMessage(message: Response): Unit = message match {
    case one: ExecutePlanResponse if (one.hasMetrics || one.hasExecutionProgress) && !administers => sendMessage(UserCall.unmeasured(one).asInstanceOf[Response])
    case one: ExecutePlanResponse if one.hasStreamingQueryCommandResult && one.getStreamingQueryCommandResult.hasException =>
      super.sendMessage(Failures.told(one).asInstanceOf[Response])
    case one: ExecutePlanResponse if one.hasStreamingQueryCommandResult && one.getStreamingQueryCommandResult.hasRecentProgress && !administers =>
      super.sendMessage(Progress.scrubbed(one).asInstanceOf[Response])
    case one: ExecutePlanResponse if one.hasStreamingQueryCommandResult && one.getStreamingQueryCommandResult.hasStatus && !administers =>
      super.sendMessage(Progress.stated(one).asInstanceOf[Response])
    case one: FetchErrorDetailsResponse if !administers => super.sendMessage(Failures.told(one).asInstanceOf[Response])
    // INVARIANT: a plan as Spark prints it is for administrators, whichever way it came here.
    case one: AnalyzePlanResponse if one.hasExplain && !administers =>
      stopped = true
      super.close(Status.PERMISSION_DENIED.withDescription("refused by the guard: the plan is not shown"), new Metadata())
    case other => super.sendMessage(other)
  }

  private def administers: Boolean = ConnectGuard.administers(user)
}

object UserCall {
  /** Without what Spark counted and timed on the way, hidden rows and their files included. The answer itself stays in its
    * place: clients count answers.
    */
  private def unmeasured(response: ExecutePlanResponse): ExecutePlanResponse = response.toBuilder.clearMetrics().clearExecutionProgress().build()
}
