package org.apache.spark.sql.connect.headgate

import java.util.UUID
import scala.util.{Failure, Success, Try}

import org.sparkproject.connect.grpc.{Metadata, ServerCall, Status}
import org.sparkproject.connect.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener
import org.sparkproject.connect.protobuf.Descriptors.FieldDescriptor
import org.sparkproject.connect.protobuf.Message

import org.apache.spark.connect.proto.{AnalyzePlanRequest, ConfigRequest, ExecutePlanRequest, ReattachExecuteRequest, UserContext}
import org.apache.spark.sql.headgate.RefusedException

/** What a user asks for: each request goes on in the name of the token's user, or is refused.
  *
  * `call` is the client's, `own` what the service answers to, which scrubs what it answers. A call can be begun long before
  * anything is asked with it, so that `holds` says again whether the token is still the user's.
  */
class UserRequests[Request, Response](
    call: ServerCall[Request, Response], own: UserCall[Request, Response], user: String, holds: () => Boolean, next: ServerCall.Listener[Request])
    extends SimpleForwardingServerCallListener[Request](next) {
  private var closed = false
  private var analyses = false

  override def onMessage(message: Request): Unit = if (!holds()) turnAway() else bound(message.asInstanceOf[Message]) match {
    case Right(config: ConfigRequest) => DoorSettings.refusal(config).fold(super.onMessage(config.asInstanceOf[Request]))(refuse)
    case Right(analyse: AnalyzePlanRequest) => counted(analyse).orElse(strange(analyse)).fold(admitted(analyse))(refused)
    case Right(execute: ExecutePlanRequest) =>
      own.operation = Limits.name(user, execute.getSessionId, execute.getOperationId)
      Limits.admit(this, user, execute).orElse(strange(execute)).orElse(ConnectGuard.unwritable(user, execute))
        .fold(super.onMessage(execute.asInstanceOf[Request]))(refused)
    case Right(reattach: ReattachExecuteRequest) =>
      own.operation = Limits.name(user, reattach.getSessionId, reattach.getOperationId)
      super.onMessage(reattach.asInstanceOf[Request])
    case Right(changed) => strange(changed).fold(super.onMessage(changed.asInstanceOf[Request]))(refused)
    case Left(why) => refuse(why)
  }

  /** INVARIANT: what has Python look at something, or Spark, counts before it does. Plans can be as large as a message. */
  private def strange(message: Message): Option[String] = ConnectGuard.strangeType(user, message).orElse(ArrowRows.refusal(message))

  /** Why a plan is not analysed now, if it is not. What is let in counts until its call is over. */
  private def counted(request: AnalyzePlanRequest): Option[String] = {
    val why = Limits.analyse(user)
    analyses = why.isEmpty
    why
  }

  /** Here the service analyses a plan that is asked about; what is executed has a thread of its own. A closure cannot call
    * `super`, which has this from a class that is hidden from us.
    */
  override def onHalfClose(): Unit =
    if (!closed && !holds()) turnAway()
    else if (analyses && !closed) Limits.watched(own.operation)(next.onHalfClose())
    else if (!closed) super.onHalfClose()

  override def onComplete(): Unit = {
    over()
    super.onComplete()
  }

  override def onCancel(): Unit = {
    over()
    super.onCancel()
  }

  /** A client that hangs up is heard of only when its plan was analysed: until then it counts. */
  private def over(): Unit = {
    Limits.known(this)
    if (analyses) Limits.analysed(user)
    analyses = false
  }

  private def admitted(request: AnalyzePlanRequest): Unit = {
    own.operation = s"headgate-${UUID.randomUUID()}"
    if (request.hasExplain && !ConnectGuard.administers(user)) answer(request) else super.onMessage(request.asInstanceOf[Request])
  }

  private def answer(request: AnalyzePlanRequest): Unit = Try(Limits.watched(own.operation)(ConnectGuard.explained(user, request))) match {
    case Success(Some(found)) =>
      closed = true
      call.sendHeaders(new Metadata())
      call.sendMessage(found.asInstanceOf[Response])
      call.close(Status.OK, new Metadata())
    case Success(None) => super.onMessage(request.asInstanceOf[Request])
    case Failure(error) => refuse(Limits.reason(own.operation).getOrElse(unexplained(error)))
  }

  private def unexplained(error: Throwable): String = error match {
    case refusal: RefusedException => refusal.getMessage
    case other => s"refused by the guard: the plan cannot be explained (${other.getClass.getSimpleName})"
  }

  private def refused(why: String): Unit = refuse(s"refused by the guard: $why")

  private def refuse(why: String): Unit = {
    closed = true
    call.close(Status.PERMISSION_DENIED.withDescription(why), new Metadata())
  }

  private def turnAway(): Unit = {
    closed = true
    call.close(Status.UNAUTHENTICATED.withDescription(ConnectGuard.UNKNOWN), new Metadata())
  }

  /** The request in the name of the token's user, or why it is not let in. */
  private def bound(message: Message): Either[String, Message] = {
    val field = message.getDescriptorForType.findFieldByName("user_context")
    val kind = ConnectGuard.kind(message)
    if (field == null) Left(s"refused by the guard: a request of the kind `$kind` names no user")
    else if (!ConnectGuard.kinds(kind)) Left(ConnectGuard.notAllowed(kind))
    else ConnectGuard.forbidden(message) match {
      case Some(why) => Left(s"refused by the guard: $why")
      case None => named(message, field)
    }
  }

  /** The token alone says who it is. PySpark puts the login of the operating system into every request, which is nobody's claim to
    * be somebody else; the name of another user is one.
    */
  private def named(message: Message, field: FieldDescriptor): Either[String, Message] = {
    val claimed = message.getField(field).asInstanceOf[UserContext]
    if (claimed.getUserId.nonEmpty && claimed.getUserId != user && Tokens.knows(claimed.getUserId))
      Left(s"refused by the guard: the user_id `${claimed.getUserId}` is not the user of the token; leave it out, or unset SPARK_USER and USER")
    else try {
      ConnectGuard.open(user, message)
      val own = UserRequests.numbered(message.toBuilder.setField(field, claimed.toBuilder.setUserId(user).setUserName(user).build()).build())
      Right(if (ConnectGuard.administers(user)) own else Places.hidden(own))
    } catch {
      case refusal: RefusedException => Left(refusal.getMessage)
      case error: Exception => Left(s"refused by the guard: the session cannot be opened (${error.getClass.getSimpleName})")
    }
  }
}

object UserRequests {
  /** An execution that a client gave no id gets one, and another is spelt as Spark would do it later: by this it is counted,
    * and known if it is stopped. What is no id at all, Spark refuses.
    */
  private def numbered(message: Message): Message = message match {
    case execute: ExecutePlanRequest =>
      val given = execute.getOperationId
      val id = if (given.isEmpty) UUID.randomUUID().toString else Try(UUID.fromString(given).toString).getOrElse(given)
      if (id == given) execute else execute.toBuilder.setOperationId(id).build()
    case other => other
  }
}
