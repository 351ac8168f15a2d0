package org.apache.spark.sql.headgate

import java.io.ObjectOutputStream
import java.util.{Collections, WeakHashMap}
import scala.collection.mutable

import org.apache.spark.{Partition, Partitioner, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.Dataset
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.{Dataset => ClassicDataset, SparkSession}
import org.apache.spark.sql.execution.{CommandExecutionMode, LogicalRDD, QueryExecution, SparkPlan, SQLExecution, SQLExecutionRDD}
import org.apache.spark.sql.internal.SessionState

/** What was decided on a plan, by which guard; the plan goes by the digest of its description. It runs but `once` if it
  * tells of groups of rows that may be others the next time: then it is another question.
  */
case class Decision(guard: String, digest: String, recipe: String)(val once: Boolean = false)

/** How a frame of a guarded session in process runs, however often: by what is decided when it runs.
  *
  * Spark plans a frame once, and would go by the first decision for as long as the frame lives. Here what was asked is
  * decided on and planned again if the decision no longer stands, or the session is set in another way: much of what is
  * set is looked up when a plan runs. A frame that was refused is asked about again too.
  */
class Followed(session: SparkSession, asked: LogicalPlan, mode: CommandExecutionMode.Value)
    extends QueryExecution(session, asked, mode = mode) {
  private var begun = false
  private var decision: Option[Decision] = None
  /** What the session was set to when the plan was decided on. */
  private var settings: Map[String, String] = Map.empty
  private var later: Option[Followed] = None
  private var action: Option[String] = None
  /** The action that the plan ran for. */
  private var ran: Option[String] = None
  @volatile private var asking: Option[Thread] = None

  /** Notes what the plan was decided by, which happens when this is asked for first. */
  override def normalized: LogicalPlan = synchronized {
    Hook.noted.remove()
    begun = true
    settings = session.sessionState.conf.getAllConfs
    Followed.planning.set(true)
    val plan = try super.normalized finally Followed.planning.set(false)
    decision = Option(Hook.noted.get()).orElse(decision)
    plan
  }

  override def optimizedPlan: LogicalPlan = {
    // INVARIANT: where files are, and which there are, is for administrators. Spark collects their names from this plan.
    if (Followed.filesAreAskedFor() && !Hook.administers(session)) throw Hook.refused("the names of files are for administrators")
    of(_.optimized)
  }
  override def sparkPlan: SparkPlan = of(_.chosen)
  override def executedPlan: SparkPlan = of(_.planned)

  // INVARIANT: not kept, as Spark would do. Rows that were asked for before are those that were allowed then.
  override def toRdd: RDD[InternalRow] = of { last =>
    val rows = new SQLExecutionRDD(last.planned.execute(), session.sessionState.conf)
    // Nobody is asked when rows that a program has run again: those of a plan that runs once are kept by Spark's action.
    if (last.once && running.isEmpty) throw FollowedRows.others
    new FollowedRows(rows, () => last.decision.exists(Hook.alike(session, commandExecuted, _)) && (!last.once || last.ran == action))
  }

  private def optimized: LogicalPlan = super.optimizedPlan
  private def chosen: SparkPlan = super.sparkPlan
  private def planned: SparkPlan = super.executedPlan

  /** What is asked of the latest plan. Each step of planning asks for those before it: that is the same question. */
  private def of[A](question: Followed => A): A = {
    val thread = Some(Thread.currentThread)
    if (asking == thread) question(later.getOrElse(this))
    else {
      val last = latest
      asking = thread
      try question(last) finally asking = None
    }
  }

  private def once: Boolean = decision.exists(_.once)

  private def running: Option[String] = Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY))

  private def stands(runs: Boolean): Boolean = settings == session.sessionState.conf.getAllConfs && decision.exists(Hook.stands(_, runs))

  /** Looked at once for each action, which asks for its plan several times. */
  private def latest: Followed = synchronized {
    val now = running
    if (now.isEmpty || now != action) {
      action = now
      val last = later.getOrElse(this)
      val told = last.once && now.isDefined && last.ran.exists(!now.contains(_))
      if (last.begun && (told || !last.stands(runs = now.isDefined))) later = Some(new Followed(session, commandExecuted, CommandExecutionMode.SKIP))
    }
    val last = later.getOrElse(this)
    if (now.isDefined) last.ran = now
    last
  }
}

/** Rows of a frame that programs work on without Spark SQL, which runs them without asking the frame again.
  *
  * They cannot be planned again, only refused: when they go to tasks, which is when they are written for them. That is
  * done by Spark's scheduler, which must not wait for anybody who is told: they were put on record when they were made.
  */
class FollowedRows(rows: RDD[InternalRow], @transient stands: () => Boolean) extends RDD[InternalRow](rows) {
  override val partitioner: Option[Partitioner] = rows.partitioner
  override protected def getPartitions: Array[Partition] = firstParent[InternalRow].partitions
  override def compute(part: Partition, task: TaskContext): Iterator[InternalRow] = firstParent[InternalRow].iterator(part, task)

  def stand: Boolean = stands()

  private def writeObject(out: ObjectOutputStream): Unit = {
    if (!stand) throw FollowedRows.refused
    out.defaultWriteObject()
  }
}

object FollowedRows {
  /** Whether the rows in a plan that were made of other plans may still be used, as far as can be told. */
  def stand(plan: LogicalPlan): Boolean = {
    val looked = mutable.Set.empty[Int]
    !made(plan).exists(outdated(_, looked))
  }

  /** Whether the rows in a plan were made of rows that were made of rows, and so on, in more steps than Spark's scheduler can take:
    * it calls itself for each, on one thread for all users, which ends when it has no more stack, and Spark with it.
    */
  def deep(plan: LogicalPlan): Boolean = {
    val counted = mutable.Map.empty[Int, Int]
    made(plan).exists(steps(_, counted) > MOST)
  }

  private val MOST = 150

  /** The rows in a plan that were made of other plans. */
  private def made(plan: LogicalPlan): Seq[RDD[_]] = plan.collect {
    case made: LogicalRDD => Seq(made.rdd)
    case other => other.subqueries.flatMap(made(_))
  }.flatten

  /** Rows can be made of the same rows twice, and these too: each is looked at once. */
  private def outdated(rows: RDD[_], looked: mutable.Set[Int]): Boolean = rows match {
    case _ if !looked.add(rows.id) || rows.isCheckpointed => false // checkpointed ones were delivered
    case followed: FollowedRows if !followed.stand => true
    case other => other.dependencies.exists(one => outdated(one.rdd, looked))
  }

  /** INVARIANT: this is at most what one plan adds to rows that were let in, as nothing is made of any that are too deep. */
  private def steps(rows: RDD[_], counted: mutable.Map[Int, Int]): Int = counted.getOrElse(rows.id, {
    val found = if (rows.isCheckpointed) 0 else 1 + rows.dependencies.map(one => steps(one.rdd, counted)).maxOption.getOrElse(0)
    counted.put(rows.id, found)
    found
  })

  def refused: RefusedException = Hook.refused("policies have changed since these rows were asked for; make the frame again")
  def many: RefusedException = Hook.refused(s"these rows were made of others in more than $MOST steps; keep some in between with `localCheckpoint()`")
  def others: RefusedException = Hook.refused("these groups may be of other rows each time they are computed, so that they are collected once")
}

object Followed {
  private val sessions = Collections.synchronizedMap(new WeakHashMap[SparkSession, java.lang.Boolean]())

  /** Whether the thread plans a frame that follows. */
  private val planning = ThreadLocal.withInitial[Boolean](() => false)

  /** Whether frames of a session should follow, and the one that is planned does not. */
  def missed(session: SparkSession): Boolean = sessions.containsKey(session) && !planning.get() && !Caches.looksUp()

  private val walker = StackWalker.getInstance()
  private val NEAR = 4L

  /** Whether `inputFiles` of a frame is what asks. */
  private def filesAreAskedFor(): Boolean = walker.walk(frames => frames.limit(NEAR).anyMatch(_.getMethodName == "inputFiles"))

  /** Has all frames of a session follow, but those that are made from SQL. */
  def in(session: SparkSession): Unit = {
    val field = classOf[SessionState].getDeclaredField("createQueryExecution")
    field.setAccessible(true)
    val make = (asked: LogicalPlan, mode: CommandExecutionMode.Value) => new Followed(session, asked, mode): QueryExecution
    field.set(session.sessionState, make)
    sessions.put(session, true)
  }

  /** The same frame, one that follows. */
  def frame(made: Dataset[_]): Dataset[_] = {
    val data = made.asInstanceOf[ClassicDataset[_]]
    ClassicDataset.ofRows(data.sparkSession, data.queryExecution.commandExecuted)
  }
}
