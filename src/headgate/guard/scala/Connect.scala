package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.grpc._
import org.sparkproject.connect.protobuf.Descriptors.FieldDescriptor
import org.sparkproject.connect.protobuf.Message

import org.apache.spark.connect.proto.{AnalyzePlanRequest, AnalyzePlanResponse, ExecutePlanRequest}
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connect.planner.SparkConnectPlanner
import org.apache.spark.sql.connect.service.{SessionHolder, SessionKey, SparkConnectService}
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.headgate.{Binding, Hook, Patterns, RefusedException, Types}

/** Binds Connect's sessions to authenticated users: what a client says of itself is only a claim. */
object ConnectGuard {
  @volatile private[headgate] var guard: Option[String] = None
  @volatile private[headgate] var kinds: Set[String] = Set.empty
  @volatile private[headgate] var parts: Map[String, String] = Map.empty
  @volatile private var words: Map[String, Set[String]] = Map.empty
  @volatile private var settings: Map[String, String] = Map.empty

  /** Opens the endpoint for one guard, whose tokens are known to `Tokens`: which kinds of requests are let in, which choices of
    * messages (`Relation read`), what no request may contain or be, each with the reason behind it, and which classes and
    * methods may be named (`Learning.start`). Gives the port.
    */
  def start(
      base: SparkSession, guardId: String, allowed: Array[String], choices: Array[String], forbidden: Array[String], named: Array[String],
      settable: Array[String], seconds: Long, queries: Int, streams: Int, analyses: Int, sessions: Int): Int = {
    kinds = allowed.toSet
    words = choices.map(_.split(" ", 2)).groupMap(_(0))(_(1)).map { case (name, list) => name -> list.toSet }
    parts = forbidden.map(_.split(" ", 2)).map(one => one(0) -> one(1)).toMap
    Learning.start(named)
    DoorSettings.start(settable)
    settings = base.newSession().sessionState.conf.getAllConfs
    guard = Some(guardId)
    // INVARIANT: threads inherit the session of whoever starts them, and in this one nothing runs.
    SparkSession.setActiveSession(base)
    SparkConnectService.start(base.sparkContext)
    Sessions.start(sessions)
    Limits.start(seconds, queries, streams, analyses)
    SparkConnectService.localPort
  }

  def stop(): Unit = {
    guard = None
    Limits.stop()
    SparkConnectService.stop()
  }

  private[headgate] val UNKNOWN = "the token is missing or not known"

  /** Requests about a session that is there already. */
  private val LATER = Set("ReattachExecuteRequest", "ReleaseExecuteRequest", "ReleaseSessionRequest", "GetStatusRequest")

  /** Makes the session of a request, as its handler would, so that it acts for somebody before anything runs in it. */
  private[headgate] def open(user: String, message: Message): Unit = {
    val kind = message.getDescriptorForType
    if (!LATER(kind.getName)) session(user, message.getField(kind.findFieldByName("session_id")).asInstanceOf[String])
  }

  private def session(user: String, id: String): SessionHolder = {
    val holder = Sessions.open(SessionKey(user, id))
    guard.foreach(one => Hook.bind(holder.session, Binding(one, user, settings, apart = true)))
    holder
  }

  /** Why nothing may be written as it is asked for, if that is asked for. */
  private[headgate] def unwritable(user: String, request: ExecutePlanRequest): Option[String] =
    Writes.refusal(session(user, request.getSessionId).session, request)

  /** Why a request is not let in for the types that are written in it, if it is not. */
  private[headgate] def strangeType(user: String, message: Message): Option[String] = {
    val found = written(message).toSeq.groupMap(_._1)(_._2)
    val texts = TYPES.toSeq.flatMap(found.getOrElse(_, Nil))
    val classes = found.getOrElse(CLASS, Nil)
    val beside = found.getOrElse(BESIDE, Nil)
    if (texts.isEmpty && classes.isEmpty && beside.isEmpty) None
    else Types.refusal(session(user, message.getField(message.getDescriptorForType.findFieldByName("session_id")).asInstanceOf[String]).session, texts, classes, beside)
  }

  private def written(message: Message): Iterator[(String, String)] = message.getAllFields.asScala.iterator.flatMap {
    case (field, text: String) if field.getName == CLASS || field.getName == BESIDE || TYPES(field.getName) => Iterator(field.getName -> text)
    case (_, inner: Message) => written(inner)
    case (_, list: java.util.List[_]) => list.asScala.iterator.flatMap { case inner: Message => written(inner); case _ => Iterator.empty }
    case _ => Iterator.empty
  }

  /** Fields that hold a type as a text, the one that holds the class of a type, and the one of what stands beside a column. */
  private val TYPES = Set("schema", "json_string", "data_type_string", "type_str")
  private val CLASS = "jvm_class"
  private val BESIDE = "metadata"

  /** Whether a user sees plans and progress as they are. */
  private[headgate] def administers(user: String): Boolean = guard.exists(Hook.administers(_, user))

  /** The answer to a user who asks for a plan. What cannot be analysed is left to the service, which says why. */
  private[headgate] def explained(user: String, request: AnalyzePlanRequest): Option[AnalyzePlanResponse] = {
    val holder = session(user, request.getSessionId)
    try {
      val text = holder.session.withActive {
        val asked = new SparkConnectPlanner(holder).transformRelation(request.getExplain.getPlan.getRoot)
        Hook.explained(holder.session, holder.session.sessionState.executePlan(asked, CommandExecutionMode.SKIP).analyzed)
      }
      val answer = AnalyzePlanResponse.newBuilder().setSessionId(request.getSessionId).setServerSideSessionId(holder.serverSessionId)
      Some(answer.setExplain(AnalyzePlanResponse.Explain.newBuilder().setExplainString(text)).build())
    } catch {
      case refusal: RefusedException => throw refusal
      case _: AnalysisException => None
    }
  }

  /** What a request asks for, by the names of the protocol: `ExecutePlanRequest.command.sql_command`. */
  def kind(message: Message): String = {
    val name = message.getDescriptorForType.getName
    (name +: (name match {
      case "ExecutePlanRequest" => chosen(message, Seq("plan"))
      case "ConfigRequest" => chosen(message, Seq("operation"))
      case "AnalyzePlanRequest" => chosen(message, Nil)
      case _ => Nil
    })).mkString(".")
  }

  /** Whether requests of that name are let in, of some kind at least. */
  private[headgate] def serves(name: String): Boolean = kinds.exists(_.takeWhile(_ != '.') == name)

  private[headgate] def notAllowed(kind: String): String =
    s"refused by the guard: requests of the kind `$kind` are not allowed${parts.get(kind).map("; " + _).mkString}"

  /** What is wrong with a request: a part that is forbidden or not among the words let in, or a name that is not, wherever in it. */
  private[headgate] def forbidden(message: Message): Option[String] = {
    val list = words.get(message.getDescriptorForType.getFullName.stripPrefix("spark.connect."))
    Learning.objection(message).orElse(message.getAllFields.asScala.view.flatMap {
      case (field, _) if parts.contains(field.getName) || isOpen(field) || list.exists(known => isChoice(field) && !known(field.getName)) =>
        Some(s"a request with `${field.getName}` ${parts.getOrElse(field.getName, "is not among those that the guard understands")}")
      case (field, text: String) if field.getName == PATTERN && Patterns.ofNames(text) =>
        Some(s"a request with a `$PATTERN` that has more than one repetition might never end; use one star, or two around a word")
      case (_, inner: Message) => forbidden(inner)
      case (_, list: java.util.List[_]) => list.asScala.view.flatMap { case inner: Message => forbidden(inner); case _ => None }.headOption
      case _ => None
    }.headOption)
  }

  /** What names of tables, functions and the like are matched with, by Java, which does not notice that it was told to stop. */
  private val PATTERN = "pattern"

  private def isChoice(field: FieldDescriptor): Boolean = field.getRealContainingOneof != null

  /** Whether anything at all can be in a field, for a plugin of the server's to make sense of. */
  private def isOpen(field: FieldDescriptor): Boolean =
    field.getJavaType == FieldDescriptor.JavaType.MESSAGE && field.getMessageType.getFullName == "google.protobuf.Any"

  private def chosen(message: Message, way: Seq[String]): Seq[String] = {
    val inner = way.foldLeft(message)((one, field) => one.getField(one.getDescriptorForType.findFieldByName(field)).asInstanceOf[Message])
    val set = inner.getDescriptorForType.getOneofs.asScala.toSeq.flatMap(one => Option(inner.getOneofFieldDescriptor(one)))
    set.headOption match {
      case Some(field) if Set("command", "streaming_query_command", "streaming_query_manager_command", "ml_command").contains(field.getName) =>
        field.getName +: chosen(inner.getField(field).asInstanceOf[Message], Nil)
      case Some(field) => Seq(field.getName)
      case None => Seq("nothing")
    }
  }
}

class ConnectGuard extends ServerInterceptor {
  private val authorization = Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER)

  override def interceptCall[Request, Response](
      call: ServerCall[Request, Response], headers: Metadata, next: ServerCallHandler[Request, Response]): ServerCall.Listener[Request] = {
    val token = Option(headers.get(authorization)).filter(_.startsWith("Bearer ")).map(_.stripPrefix("Bearer "))
    val user = for (_ <- ConnectGuard.guard; one <- token; found <- Tokens.user(one)) yield found
    user match {
      case None =>
        call.close(Status.UNAUTHENTICATED.withDescription(ConnectGuard.UNKNOWN), new Metadata())
        new ServerCall.Listener[Request] {}
      // INVARIANT: no handler is made for what is not let in. That of artifacts has a folder before it has read anything.
      case Some(_) if !ConnectGuard.serves(requested(call.getMethodDescriptor)) =>
        val why = ConnectGuard.notAllowed(requested(call.getMethodDescriptor))
        call.close(Status.PERMISSION_DENIED.withDescription(why), new Metadata())
        new ServerCall.Listener[Request] {}
      case Some(name) =>
        val own = new UserCall(call, name)
        new UserRequests(call, own, name, () => token.flatMap(Tokens.user).contains(name), next.startCall(own, headers))
    }
  }

  private def requested(method: MethodDescriptor[_, _]): String = method.getRequestMarshaller match {
    case one: MethodDescriptor.PrototypeMarshaller[_] => one.getMessagePrototype.asInstanceOf[Message].getDescriptorForType.getName
    case _ => method.getFullMethodName
  }
}
