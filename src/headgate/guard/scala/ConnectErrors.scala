package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.google_protos.rpc.{ErrorInfo, Status => RpcStatus}
import org.sparkproject.connect.grpc.{Metadata, ServerCall, Status}
import org.sparkproject.connect.grpc.ForwardingServerCall.SimpleForwardingServerCall
import org.sparkproject.connect.grpc.protobuf.StatusProto
import org.sparkproject.connect.protobuf.Any

import org.apache.spark.connect.proto.ExecutePlanResponse

/** Errors as users get them: what is wrong with a query in words, what went wrong while it ran as a code.
  *
  * A message about a value shows it, and one about a file its place.
  */
class CodedCall[Request, Response](call: ServerCall[Request, Response]) extends SimpleForwardingServerCall[Request, Response](call) {
  override def close(status: Status, trailers: Metadata): Unit = {
    val found = if (status.isOk) null else StatusProto.fromStatusAndTrailers(status, trailers)
    val info = Option(found).flatMap(_.getDetailsList.asScala.find(_.is(classOf[ErrorInfo]))).map(_.unpack(classOf[ErrorInfo]))
    info.filterNot(CodedCall.inWords) match {
      case None => super.close(status, trailers)
      case Some(one) =>
        val coded = StatusProto.toStatusRuntimeException(CodedCall.coded(found, one))
        super.close(coded.getStatus, coded.getTrailers)
    }
  }

  override def sendMessage(message: Response): Unit = message match {
    case one: ExecutePlanResponse if one.hasStreamingQueryCommandResult && one.getStreamingQueryCommandResult.hasException =>
      super.sendMessage(CodedCall.coded(one).asInstanceOf[Response])
    case other => super.sendMessage(other)
  }
}

object CodedCall {
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

  private def text(code: String, state: Option[String]): String =
    s"[$code] The query failed while it ran${state.map(one => s" (SQLSTATE $one)").getOrElse("")}. Values are not shown."
}
