package org.apache.spark.sql.headgate

import java.util.concurrent.{ExecutionException, RejectedExecutionHandler, SynchronousQueue, ThreadFactory, ThreadPoolExecutor, TimeUnit, TimeoutException}
import java.util.concurrent.atomic.AtomicInteger

import py4j.{Py4JPythonClient, Py4JPythonClientPerThread}

/** The decision point, called by threads that stay.
  *
  * py4j gives every thread that calls Python a connection of its own, with a thread that listens on the other side, and
  * keeps all of it when the thread has ended. Connect runs each query on a new thread, and each stream has one: an
  * endpoint would grow by half a megabyte with each query, until it has no threads left. So calls go through threads of
  * our own, of which there are as many as there were calls at once, up to `MOST`. They are never given up, because their
  * connections would stay. Further calls wait in turn until one of them is free.
  *
  * A thread that has a connection calls through that: it does what Python asked it to, and Python may hold locks that only
  * its own thread can pass. So calls never wait for each other in a ring, though there is an end to their number: Python
  * answers without asking Spark for anything, and if it did, what it asked would come to the very thread that calls it,
  * which has its connection and needs no other.
  *
  * A call waits for one of these threads, and then for the answer, `seconds` each at most; the rest is a refusal, as is
  * whatever else goes wrong. INVARIANT: nobody interrupts a thread whose call was given up. It goes on waiting for that
  * answer, and is free for another call only when it has read it: else it would take one answer for another. So a decision
  * point that never answers again takes all threads at last, and every call is a refusal. A call through the caller's own
  * connection has no limit: it is the program itself that answers there, and waits for itself.
  */
class Calls(point: DecisionPoint, client: Py4JPythonClientPerThread, seconds: Long) extends DecisionPoint {
  private val made = new AtomicInteger()
  private val daemons: ThreadFactory = work => {
    val thread = new Thread(work, s"headgate-call-${made.incrementAndGet()}")
    thread.setDaemon(true)
    thread
  }
  private val inTurn: RejectedExecutionHandler = (work, pool) => if (!pool.getQueue.offer(work, seconds, TimeUnit.SECONDS)) throw new TimeoutException
  private val threads =
    new ThreadPoolExecutor(0, Calls.MOST, Long.MaxValue, TimeUnit.NANOSECONDS, new SynchronousQueue[Runnable](true), daemons, inTurn)

  private def through[A](call: () => A): A =
    if (client.getPerThreadConnection != null) call()
    else try threads.submit(() => call()).get(seconds, TimeUnit.SECONDS) catch { case error: ExecutionException => throw error.getCause }

  override def recall(guard: String, digest: String, runs: Boolean): String = through(() => point.recall(guard, digest, runs))

  override def decide(guard: String, letter: String, part: String, last: Boolean, runs: Boolean): String =
    through(() => point.decide(guard, letter, part, last, runs))

  override def explain(guard: String, letter: String): String = through(() => point.explain(guard, letter))

  override def compare(letter: String): String = through(() => point.compare(letter))

  override def beforehand(guard: String, user: String, letter: String): String = through(() => point.beforehand(guard, user, letter))

  override def administers(guard: String, user: String): Boolean = through(() => point.administers(guard, user))
}

object Calls {
  private val MOST = 64

  def by(client: Py4JPythonClient, point: DecisionPoint, seconds: Long): DecisionPoint = client match {
    case own: Py4JPythonClientPerThread => new Calls(point, own, seconds)
    case _ => point // without PYSPARK_PIN_THREAD connections are nobody's, and used again
  }
}
