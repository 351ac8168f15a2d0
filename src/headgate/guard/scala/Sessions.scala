package org.apache.spark.sql.connect.headgate

import java.util.concurrent.ConcurrentHashMap
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connect.service.{SessionHolder, SessionKey, SparkConnectService, SparkConnectSessionManager}
import org.apache.spark.sql.headgate.RefusedException
import org.apache.spark.sql.streaming.StreamingQuery

/** The sessions that users hold, and no more of them than a user may: each takes memory for as long as it is there. */
object Sessions {
  private val held = new ConcurrentHashMap[SessionKey, SessionHolder]()
  @volatile private var most = 0

  def start(sessions: Int): Unit = most = sessions

  /** The session of a user, made if it is not there yet. */
  def open(key: SessionKey): SessionHolder = {
    val found = manager.getIsolatedSessionIfPresent(key).getOrElse(made(key))
    held.put(key, found)
    found
  }

  /** INVARIANT: Spark keeps the models of a session in a folder that is called after its id, whosever it is. */
  private def made(key: SessionKey): SessionHolder = synchronized {
    if (manager.listActiveSessions.map(_.key).exists(one => one.sessionId == key.sessionId && one.userId != key.userId))
      throw new RefusedException("refused by the guard: another user has a session of this id; take a new one")
    if (manager.listActiveSessions.count(_.userId == key.userId) >= most)
      throw new RefusedException(
        s"refused by the guard: $most sessions of yours are open, which is as many as are allowed; stop one, or wait: one that is not used is closed")
    manager.getOrCreateIsolatedSession(key, None)
  }

  /** The streams of all users, or of one. To ask Spark for a session counts as using it, and what is used is never closed.
    *
    * INVARIANT: a session that was given back is remembered while one of its streams goes on, as what cannot be stopped does.
    */
  def streams(user: Option[String] = None): Seq[StreamingQuery] = {
    val before = held.asScala.toSeq
    val open = manager.listActiveSessions.map(_.key).toSet
    val running = before.map { case (key, session) => (key, session, session.session.streams.active.toSeq) }
    running.foreach { case (key, session, streams) => if (!open(key) && streams.isEmpty) held.remove(key, session) }
    running.collect { case (key, _, streams) if user.forall(_ == key.userId) => streams }.flatten
  }

  private def manager: SparkConnectSessionManager = SparkConnectService.sessionManager
}
