package org.apache.spark.sql.connect.headgate

import java.util.concurrent.{ConcurrentHashMap, Executors, ScheduledExecutorService, TimeUnit}
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.commons.lang3.ThreadUtils

import org.apache.spark.{JobExecutionStatus, SparkContext, SparkJobInfo, SparkStatusTracker}
import org.apache.spark.connect.proto.ExecutePlanRequest
import org.apache.spark.sql.connect.service.{ExecuteInfo, ExecuteKey, ExecuteStatus, SparkConnectService}
import org.apache.spark.sql.streaming.StreamingQuery

/** How much of the machine each user gets, so that a query that never ends keeps nobody else waiting for good. */
object Limits {
  private case class Most(seconds: Long, queries: Int, streams: Int, analyses: Int)

  /** The batch that a stream was at when it was looked at, and since when. */
  private case class Batch(number: Long, since: Long)

  private val ended: Set[ExecuteStatus] = Set(ExecuteStatus.Finished, ExecuteStatus.Failed, ExecuteStatus.Canceled, ExecuteStatus.Closed)
  private val KEPT = 10000

  /** How long a query that is being refused waits for the threads of others that may just be over, in milliseconds each. */
  private val ENDING = 20
  /** What was let in and Spark does not know of yet, by the call that asks for it. */
  private val admitted = new ConcurrentHashMap[AnyRef, ExecuteKey]()

  /** What was let in and may still have a thread, whether Spark knows of it or not. */
  private val begun = ConcurrentHashMap.newKeySet[ExecuteKey]()
  private val stopped = ConcurrentHashMap.newKeySet[String]()
  private val stopping = ConcurrentHashMap.newKeySet[String]()
  private val batches = new ConcurrentHashMap[String, Batch]()
  private val waited = new ConcurrentHashMap[String, Long]()
  private val analysing = new ConcurrentHashMap[String, Int]()

  /** The plans that are being analysed, each by the tag of the jobs that it runs, and since when. */
  private val plans = new ConcurrentHashMap[String, Long]()
  private var looked = System.nanoTime()
  @volatile private var most = Most(0, 0, 0, 0)
  @volatile private var watch: Option[ScheduledExecutorService] = None

  def start(seconds: Long, queries: Int, streams: Int, analyses: Int): Unit = {
    most = Most(seconds, queries, streams, analyses)
    val timer = Executors.newSingleThreadScheduledExecutor { (work: Runnable) =>
      val thread = new Thread(work, "headgate-limits")
      thread.setDaemon(true)
      thread
    }
    timer.scheduleWithFixedDelay(() => lasting(look()), 500, 500, TimeUnit.MILLISECONDS)
    watch = Some(timer)
  }

  /** INVARIANT: whoever looks goes on looking. A task that has failed is never run again, and there may be no memory for a
    * moment.
    */
  private def lasting(work: => Unit): Unit = try work catch { case _: Throwable => }

  def stop(): Unit = {
    watch.foreach(_.shutdownNow())
    watch = None
  }

  /** Why a query is not let in now, if it is not. What is let in counts before Spark knows of it, until its call is `known`.
    *
    * INVARIANT: what is counted are Spark's executions. Clients choose the ids of operations, and may use one in many sessions;
    * but one that was let go of and goes on has its id for as long, or else it would be counted once with the next.
    */
  def admit(call: AnyRef, user: String, request: ExecutePlanRequest): Option[String] = {
    if (running(user).size >= most.queries) begun.asScala.filter(_.userId == user).flatMap(threads).foreach(_.join(ENDING))
    counted(call, user, request)
  }

  private def counted(call: AnyRef, user: String, request: ExecutePlanRequest): Option[String] = synchronized {
    val asked = ExecuteKey(user, request.getSessionId, request.getOperationId)
    val running = this.running(user)
    if (lingers(asked)) Some("a query of yours with this id still runs, though it was let go of; take a new id, or none")
    else if (!again(asked) && number(running) >= most.queries) Some(s"${most.queries} queries of yours are running, which is as many as are allowed; wait for one to end, or stop one")
    else if (startsStream(request) && Sessions.streams(Some(user)).size >= most.streams)
      Some(s"${most.streams} streams of yours are running, which is as many as are allowed; stop one")
    else {
      admitted.put(call, asked)
      None
    }
  }

  /** Whether a query runs, or may be about to, of which Spark does not know any more, or not yet. */
  private def lingers(asked: ExecuteKey): Boolean =
    (admitted.containsValue(asked) || (begun.contains(asked) && threads(asked).nonEmpty)) && !listed(asked)

  /** Whether Spark knows a query of this id, and so begins no other. It may be let go of meanwhile, but not many times. */
  private def again(asked: ExecuteKey): Boolean = listed(asked) && threads(asked).size <= 1

  private def listed(asked: ExecuteKey): Boolean = SparkConnectService.executionManager.getExecuteHolder(asked).nonEmpty

  private def number(running: Set[ExecuteKey]): Int = running.size.max(running.groupBy(_.operationId).values.map(one => threads(one.head).size).sum)

  /** Whatever became of a query that was let in, from now on Spark knows. */
  def known(call: AnyRef): Unit = Option(admitted.get(call)).foreach { key =>
    begun.add(key)
    admitted.remove(call)
  }

  /** What a user has running.
    *
    * INVARIANT: it counts until its thread has ended. Spark forgets what is released, and takes what was interrupted for
    * cancelled, while the thread goes on with what cannot be stopped.
    */
  private def running(user: String): Set[ExecuteKey] = {
    begun.removeIf(threads(_).isEmpty)
    (active.map(_.key) ++ admitted.values.asScala ++ begun.asScala).filter(_.userId == user).toSet
  }

  private def threads(key: ExecuteKey): Seq[Thread] =
    ThreadUtils.findThreadsByName(s"SparkConnectExecuteThread_opId=${key.operationId}").asScala.toSeq

  /** The name of an execution, which no other has, of whatever session or user. */
  def name(user: String, session: String, operation: String): String = s"$operation $session $user"

  private def name(query: ExecuteInfo): String = name(query.userId, query.sessionId, query.operationId)

  /** Why a plan is not analysed now, if it is not: that takes a thread of the driver, and nothing stops it but what
    * it runs meanwhile. What is let in counts until `analysed` is told.
    */
  def analyse(user: String): Option[String] =
    if (analysing.merge(user, 1, _ + _) <= most.analyses) None
    else {
      analysed(user)
      Some(s"${most.analyses} plans of yours are being analysed, which is as many as are allowed at once; wait for one to be done")
    }

  def analysed(user: String): Unit = analysing.merge(user, -1, _ + _)

  /** Analyses a plan on this thread. Spark runs jobs to find the values of a pivot or a correlation, which are stopped as those
    * of a query are. The thread goes on to other users' requests, so that nothing of this is left with it.
    */
  def watched[A](tag: String)(analysis: => A): A = {
    val context = SparkContext.getOrCreate()
    val interrupts = context.getLocalProperty(SparkContext.SPARK_JOB_INTERRUPT_ON_CANCEL)
    context.addJobTag(tag)
    context.setInterruptOnCancel(true)
    plans.put(tag, System.nanoTime())
    try analysis
    finally {
      plans.remove(tag)
      context.setLocalProperty(SparkContext.SPARK_JOB_INTERRUPT_ON_CANCEL, interrupts)
      context.removeJobTag(tag)
    }
  }

  /** What a user is told of a query that was stopped for taking too long. */
  def reason(name: String): Option[String] =
    if (stopped.contains(name)) Some(s"refused by the guard: the query ran for more than ${most.seconds} s, which is as long as is allowed") else None

  private def startsStream(request: ExecutePlanRequest): Boolean =
    request.getPlan.hasCommand && request.getPlan.getCommand.hasWriteStreamOperationStart

  /** Who waits for a stream takes nothing from anybody. */
  private def waits(one: ExecuteInfo): Boolean =
    one.request.getPlan.hasCommand && (one.request.getPlan.getCommand.hasStreamingQueryCommand || one.request.getPlan.getCommand.hasStreamingQueryManagerCommand)

  private def active: Seq[ExecuteInfo] =
    SparkConnectService.executionManager.listActiveExecutions.getOrElse(Nil).filterNot(one => ended(one.status))

  private def look(): Unit = {
    val now = System.nanoTime()
    val passed = now - looked
    looked = now
    val queries = active.filterNot(waits)
    val streams = Sessions.streams()
    val analyses = plans.asScala.toSeq
    waited.keySet.retainAll((queries.map(name) ++ streams.map(_.runId.toString) ++ analyses.map(_._1)).asJava)
    // What is wrong with one of them is no reason not to look at the others.
    analyses.foreach { case (tag, since) => Try(lookAt(tag, since, now, passed)) }
    queries.foreach(query => Try(lookAt(query, now, passed)))
    streams.foreach(stream => Try(lookAt(stream, now, passed)))
  }

  private def lookAt(query: ExecuteInfo, now: Long, passed: Long): Unit =
    if (tooLong(name(query), query.creationTimeNs, now, passed, _.getJobIdsForTag(query.jobTag))) {
      note(name(query))
      SparkConnectService.executionManager.getExecuteHolder(query.key).foreach(_.interrupt())
    }

  /** A plan whose job was stopped may go on to another one, which is stopped the next time. */
  private def lookAt(tag: String, since: Long, now: Long, passed: Long): Unit =
    if (tooLong(tag, since, now, passed, _.getJobIdsForTag(tag)) && running(_.getJobIdsForTag(tag)).nonEmpty) {
      note(tag)
      SparkContext.getOrCreate().cancelJobsWithTag(tag)
    }

  private def note(name: String): Unit = {
    if (stopped.size > KEPT) stopped.clear()
    stopped.add(name)
  }

  /** A stream may run for ever, but not one batch of it. */
  private def lookAt(stream: StreamingQuery, now: Long, passed: Long): Unit = {
    val id = stream.runId.toString
    val number = Option(stream.lastProgress).map(_.batchId).getOrElse(-1L)
    if (!stream.status.isTriggerActive || Option(batches.get(id)).exists(_.number != number)) {
      batches.remove(id)
      waited.remove(id)
    }
    else if (tooLong(id, batches.computeIfAbsent(id, _ => Batch(number, now)).since, now, passed, _.getJobIdsForGroup(id))) stop(stream, id)
  }

  /** Who stops a stream waits until it has stopped, which one that is stuck in the driver never does. */
  private def stop(stream: StreamingQuery, id: String): Unit = if (stopping.add(id)) {
    val thread = new Thread(() => try stream.stop() finally stopping.remove(id), s"headgate-stop-$id")
    thread.setDaemon(true)
    thread.start()
  }

  /** Whether something has taken too long since it began, not counting how long it waited for others to let it have a core. */
  private def tooLong(id: String, since: Long, now: Long, passed: Long, jobs: SparkStatusTracker => Array[Int]): Boolean = {
    if (waitsForCores(jobs)) waited.merge(id, passed, (one, more) => one + more)
    TimeUnit.NANOSECONDS.toSeconds(now - since - waited.getOrDefault(id, 0L)) >= most.seconds
  }

  private def waitsForCores(jobs: SparkStatusTracker => Array[Int]): Boolean = {
    val found = running(jobs)
    found.nonEmpty && found.flatMap(_.stageIds.toSeq).flatMap(tracker.getStageInfo(_)).forall(_.numActiveTasks == 0)
  }

  private def running(jobs: SparkStatusTracker => Array[Int]): Seq[SparkJobInfo] =
    jobs(tracker).toSeq.flatMap(tracker.getJobInfo(_)).filter(_.status == JobExecutionStatus.RUNNING)

  private def tracker: SparkStatusTracker = SparkContext.getOrCreate().statusTracker
}
