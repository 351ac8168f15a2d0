package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import com.fasterxml.jackson.databind.node.ObjectNode
import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}
import java.util.zip.{Deflater, DeflaterOutputStream}
import java.util.{Base64, Collections, HexFormat, UUID, WeakHashMap}
import py4j.Py4JPythonClient
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{AnalysisException, Dataset, Row, SparkSession => AnySession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.{InternalRow, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.{DeserializeToObject, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.{Dataset => ClassicDataset, SparkSession}
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.execution.{CommandExecutionMode, QueryExecution, SQLExecution}
import org.apache.spark.sql.execution.command.ExplainCommand
import org.apache.spark.unsafe.types.UTF8String

/** The decision point, on the Python side: a description goes out, a recipe comes back.
  *
  * Asked by the digest of a description first, it answers with what it decided last time, or with nothing. A description
  * comes in parts, of which all but the last get no answer. What is decided is put on record if the plan `runs`. `explain`
  * says in words what is decided on a description whose parts were all sent, `compare` why answers may not all be
  * given, and `beforehand` why something must not even be resolved, or be asked for.
  */
trait DecisionPoint {
  def recall(guard: String, digest: String, runs: Boolean): String
  def decide(guard: String, letter: String, part: String, last: Boolean, runs: Boolean): String
  def explain(guard: String, letter: String): String
  def compare(letter: String): String
  def beforehand(guard: String, user: String, letter: String): String
  def administers(guard: String, user: String): Boolean
}

/** A query that is not run, with what the user is told; of a kind that clients show without a trace. */
class RefusedException(text: String) extends AnalysisException(message = text)

/** Whom a session acts for, with which settings at first; `apart` if nobody else's queries run on its threads. */
case class Binding(guard: String, user: String, settings: Map[String, String], apart: Boolean = false)

/** Puts the guard into a session: the hook on analysed plans, the rules that keep files skippable, the fence's planning. */
class GuardExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectHintResolutionRule(session => new Beforehand(session))
    extensions.injectPlanNormalizationRule(session => new GuardRule(session))
    extensions.injectCheckRule(session => Streams.check(session))
    extensions.injectOptimizerRule(_ => PushLeakproof)
    extensions.injectOptimizerRule(_ => NarrowCells)
    extensions.injectPlannerStrategy(_ => PlanBarrier)
    extensions.injectPlannerStrategy(_ => PlanUnfollowed)
  }
}

class GuardRule(session: AnySession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = Hook.enforce(session.asInstanceOf[SparkSession], plan)
}

object Hook {
  @volatile private var point: Option[DecisionPoint] = None
  private val json = new ObjectMapper()
  private val bindings = Collections.synchronizedMap(new WeakHashMap[SparkSession, Binding]())
  private val tickets = new ConcurrentHashMap[String, Binding]()
  /** INVARIANT: what acts for the same user in the same way has the same ticket: sessions come and go, tickets stay. */
  private val given = new ConcurrentHashMap[Binding, String]()
  private val took = new ConcurrentLinkedQueue[Long]()

  /** A copy of a session, as every streaming query makes one, knows by this setting whom it acts for. */
  private val TICKET = "spark.headgate.ticket"

  /** The decision point, what it is called with, and how many seconds an answer may take. */
  def register(decisionPoint: DecisionPoint, client: Py4JPythonClient, seconds: Long): Unit = point = Option(decisionPoint).map(Calls.by(client, _, seconds))

  /** A new session in which everything runs as that user; tables are those of the parent. */
  def open(parent: AnySession, guard: String, user: String): SparkSession = {
    val extensions = new SparkSessionExtensions
    new GuardExtensions()(extensions)
    val session = beside(parent, extensions, Map(Beforehand.SUBSTITUTE -> "false"))
    bind(session, Binding(guard, user, session.sessionState.conf.getAllConfs))
    Followed.in(session)
    session
  }

  /** A session that is not guarded, whatever its parent is: the administrator's own, for a Spark in which all others are. */
  def unguarded(parent: AnySession): SparkSession = beside(parent, new SparkSessionExtensions, Map.empty)

  private def beside(parent: AnySession, extensions: SparkSessionExtensions, settings: Map[String, String]): SparkSession = {
    val from = parent.asInstanceOf[SparkSession]
    val options = from.sparkContext.conf.getAll.filter(_._1.startsWith("spark.sql.")).toMap ++ settings
    create(Seq(from.sparkContext, Some(from.sharedState), None, extensions, options, Map.empty[String, String]))
  }

  /** The constructor is hidden in the language and open in the byte code; its last parameter came with Spark 4.0. */
  private def create(values: Seq[Object]): SparkSession = {
    val constructor = classOf[SparkSession].getConstructors.maxBy(_.getParameterCount)
    constructor.newInstance(values.take(constructor.getParameterCount): _*).asInstanceOf[SparkSession]
  }

  /** Lets a session act for a user, once and for good; its copies know by the ticket.
    *
    * INVARIANT: nobody gets a session that does not have the hook, whichever one it was made of.
    */
  private[sql] def bind(session: SparkSession, binding: Binding): Unit = bindings.synchronized {
    if (!bindings.containsKey(session)) {
      if (!session.sessionState.planNormalizationRules.exists(_.isInstanceOf[GuardRule])) throw refused("this session is not guarded")
      val ticket = given.computeIfAbsent(binding, _ => UUID.randomUUID().toString)
      tickets.put(ticket, binding)
      session.sessionState.conf.setConfString(TICKET, ticket)
      session.experimental.extraOptimizations :+= PrunePartitions
      bindings.put(session, binding)
    }
  }

  private def bindingOf(session: SparkSession): Option[Binding] =
    Option(bindings.get(session)).orElse {
      val found = Option(session.sessionState.conf.getConfString(TICKET, null)).flatMap(one => Option(tickets.get(one)))
      found.foreach(bindings.put(session, _))
      found
    }

  // INVARIANT: a session that has this hook runs nothing that was not decided on. Whatever goes wrong is a refusal.
  def enforce(session: SparkSession, plan: LogicalPlan): LogicalPlan = plan match {
    case _ if ours.get() || Caches.rebuilds() => plan
    case command: ExplainCommand if !administers(bound(session)) =>
      val asked = session.sessionState.executePlan(command.logicalPlan, CommandExecutionMode.SKIP).analyzed
      LocalRelation(command.output, Seq(InternalRow(UTF8String.fromString(explained(session, asked)))))
    case other => decided(session, bound(session), other)
  }

  private def bound(session: SparkSession): Binding = bindingOf(session).getOrElse(throw refused("this session acts for nobody"))

  private[headgate] def administers(session: SparkSession): Boolean = administers(bound(session))

  private def administers(binding: Binding): Boolean = administers(binding.guard, binding.user)

  private[sql] def administers(guard: String, user: String): Boolean = try point.exists(_.administers(guard, user)) catch { case _: Throwable => false }

  /** What a user is shown of a plan: what was asked, and what the guard says to it; of a plan that is refused only that. */
  private[sql] def explained(session: SparkSession, plan: LogicalPlan): String = {
    val binding = bound(session)
    val decisions = point.getOrElse(throw refused("the decision point is not there"))
    val letter = UUID.randomUUID().toString
    val answer = try {
      send(decisions, binding.guard, letter, describe(session, binding, plan, new Numbers).getBytes(StandardCharsets.UTF_8))
      json.readTree(decisions.explain(binding.guard, letter))
    } catch { case error: Throwable => throw refused(s"the decision point cannot be reached (${error.getClass.getSimpleName})") }
    val asked = if (answer.get("permitted").asBoolean(false)) s"== Asked ==\n${Shown.text(plan)}\n\n" else ""
    s"$asked== Guard ==\n${answer.get("told").elements().asScala.map(_.asText).mkString("\n")}\n"
  }

  private def decided(session: SparkSession, binding: Binding, plan: LogicalPlan): LogicalPlan = {
    val start = System.nanoTime()
    Streams.late(session).foreach(why => throw refused(why))
    val numbers = new Numbers
    val (decision, recipe) = try ask(binding.guard, describe(session, binding, plan, numbers), runs = true) catch {
      case refusal: RefusedException => throw refusal
      case error: Throwable => throw refused(s"the decision point cannot be reached (${error.getClass.getSimpleName})")
    }
    if (recipe == null || !recipe.isObject || (!recipe.has("refuse") && !recipe.has("permit"))) throw refused("the decision point gave no decision")
    if (recipe.has("refuse")) throw refused(recipe.get("refuse").asText)
    if (binding.apart && FollowedRows.deep(plan)) throw FollowedRows.many
    if (binding.apart && !FollowedRows.stand(plan)) throw FollowedRows.refused
    val zone = Zones.of(binding)
    // INVARIANT: nothing is changed here that makes more or fewer nodes of the plan; a recipe goes by their numbers.
    val asked = Zones.in(zone, Asking.by(binding.user, plan))
    val keeps = Followed.missed(session) || kept(binding, plan)
    val once = Releases.check(session, binding, recipe, asked, numbers, stays = keeps && Unfollowed.stays(plan)).fold(why => throw refused(why), identity)
    try {
      val guarded = stoppable(binding, Zones.folders(zone, new Apply(recipe, numbers)(asked)))
      // Tasks of users take turns, however many of them one user has waiting.
      if (binding.apart) session.sparkContext.setLocalProperty("spark.scheduler.pool", binding.user)
      took.add(System.nanoTime() - start)
      if (took.size() > 10000) took.poll()
      val made = decision.copy()(once)
      noted.set(made)
      if (keeps) Unfollowed(session, plan, made, guarded) else guarded
    } catch {
      case refusal: RefusedException => throw refusal
      case error: Exception => throw refused(s"the decision cannot be applied to this plan (${error.getClass.getSimpleName})")
    }
  }

  /** A plan that lets go when it is told to. In process, what loops is the program's own affair. */
  private[headgate] def stoppable(binding: Binding, plan: LogicalPlan): LogicalPlan = {
    val letting = Patterns(plan)
    if (binding.apart) Loops(letting) else letting
  }

  /** Whether Connect makes rows of a plan that it keeps and does not plan again: texts that are parsed. */
  private def kept(binding: Binding, plan: LogicalPlan): Boolean = binding.apart && plan.isInstanceOf[DeserializeToObject]

  private def ask(guard: String, description: String, runs: Boolean): (Decision, JsonNode) = {
    val decisions = point.getOrElse(throw refused("the decision point is not there"))
    val bytes = description.getBytes(StandardCharsets.UTF_8)
    val digest = HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes))
    val known = decisions.recall(guard, digest, runs)
    val text = if (known.nonEmpty) known else {
      val letter = UUID.randomUUID().toString
      val parts = packed(bytes).grouped(PART).toSeq
      parts.init.foreach(decisions.decide(guard, letter, _, false, false))
      decisions.decide(guard, letter, parts.last, true, runs)
    }
    (Decision(guard, digest, text)(), json.readTree(text))
  }

  /** The last decision that this thread has planned by. */
  private[headgate] val noted = new ThreadLocal[Decision]

  /** Whether the same would be decided now; on record if the plan `runs`. INVARIANT: what cannot be told does not stand. */
  private[headgate] def stands(decision: Decision, runs: Boolean): Boolean =
    try point.exists(_.recall(decision.guard, decision.digest, runs) == decision.recipe) catch { case _: Throwable => false }

  /** Whether the same is decided on a plan now; nothing is put on record. INVARIANT: what cannot be told is not the same. */
  private[headgate] def alike(session: SparkSession, plan: LogicalPlan, decision: Decision): Boolean =
    try ask(decision.guard, describe(session, bound(session), plan, new Numbers), runs = false)._1 == decision catch { case _: Throwable => false }

  /** Whether the thread plans a query of the guard's own. */
  private val ours = ThreadLocal.withInitial[Boolean](() => false)

  /** The rows of a plan that the guard itself made. */
  private[headgate] def collect(session: SparkSession, plan: LogicalPlan): Array[Row] = {
    val execution = new QueryExecution(session, plan)
    ours.set(true)
    try execution.executedPlan finally ours.set(false)
    SQLExecution.withNewExecutionId(execution)(execution.executedPlan.executeCollectPublic())
  }

  /** Why answers may not all be given, or nothing. */
  private[headgate] def compare(guard: String, letter: String): String = {
    val decisions = point.getOrElse(throw refused("the decision point is not there"))
    val number = UUID.randomUUID().toString
    send(decisions, guard, number, letter.getBytes(StandardCharsets.UTF_8))
    decisions.compare(number)
  }

  /** Why a source must not be resolved in a session, if it must not. INVARIANT: what cannot be told is not resolved. */
  private[sql] def beforehand(session: SparkSession, source: String): Option[String] = {
    val binding = bound(session)
    try {
      val decisions = point.get
      val letter = UUID.randomUUID().toString
      send(decisions, binding.guard, letter, source.getBytes(StandardCharsets.UTF_8))
      Option(decisions.beforehand(binding.guard, binding.user, letter)).filter(_.nonEmpty)
    } catch { case error: Throwable => Some(s"the decision point cannot be reached (${error.getClass.getSimpleName})") }
  }

  private def send(decisions: DecisionPoint, guard: String, letter: String, bytes: Array[Byte]): Unit =
    packed(bytes).grouped(PART).foreach(decisions.decide(guard, letter, _, false, false))

  /** The bridge to Python sends more than eight kilobytes in pieces, and waits 40 ms between them. */
  private val PART = 7000

  private def packed(bytes: Array[Byte]): String = {
    val packed = new ByteArrayOutputStream()
    val out = new DeflaterOutputStream(packed, new Deflater(Deflater.BEST_SPEED))
    out.write(bytes)
    out.close()
    Base64.getEncoder.encodeToString(packed.toByteArray)
  }

  /** How long describing, deciding and applying took together, in nanoseconds, for the last plans that were permitted. */
  def timings(): String = json.writeValueAsString(took.toArray)

  /** A frame with the values of a recipe's expressions over its columns, which are numbered by their places. */
  def evaluate(frame: Dataset[_], terms: String): Dataset[_] = {
    val data = frame.asInstanceOf[ClassicDataset[_]]
    val plan = data.queryExecution.analyzed
    val build = new Build(plan.output.zipWithIndex.map { case (one, place) => place.toLong -> one }.toMap)
    val columns = json.readTree(terms).elements().asScala.map(build(_)).zipWithIndex.map { case (one, place) => Alias(one, s"c$place")() }
    ClassicDataset.ofRows(data.sparkSession, Project(columns.toSeq, plan))
  }

  /** Where the files of these catalog tables are, as far as they are there and have any. */
  def locations(session: AnySession, names: String): String = {
    val state = session.asInstanceOf[SparkSession].sessionState
    val found = json.createObjectNode()
    json.readTree(names).elements().asScala.map(_.asText).foreach { name =>
      sessionTable(state.sqlParser.parseMultipartIdentifier(name)).filter(state.catalog.tableExists).foreach { identifier =>
        val table = state.catalog.getTableMetadata(identifier)
        table.storage.locationUri.foreach { uri =>
          val place = found.putArray(name)
          Reading.place(table, uri, place)
          place.add(Reading.texts(table.schema.filter(one => Padding.needed(one.metadata)).map(_.name)))
        }
      }
    }
    json.writeValueAsString(found)
  }

  /** A name in the catalog of the session; what other catalogs have is found there by name only. */
  private[headgate] def sessionTable(name: Seq[String]): Option[TableIdentifier] = name match {
    case Seq(table) => Some(TableIdentifier(table))
    case Seq(database, table) => Some(TableIdentifier(table, Some(database)))
    case Seq(CatalogManager.SESSION_CATALOG_NAME, database, table) => Some(TableIdentifier(table, Some(database)))
    case _ => None
  }

  /** What the decision point would be told of a plan, which is not run. */
  def describe(session: AnySession, plan: LogicalPlan): String = {
    val bound = session.asInstanceOf[SparkSession]
    describe(bound, bindingOf(bound).getOrElse(throw refused("this session acts for nobody")), plan, new Numbers)
  }

  private def describe(session: SparkSession, binding: Binding, plan: LogicalPlan, numbers: Numbers): String = {
    val description: ObjectNode = new Describe(numbers)(plan)
    description.put("guard", binding.guard).put("user", binding.user)
    if (plan.isStreaming && Streams.kept(session)) description.put("kept", true)
    val changed = description.putObject("settings")
    val now = session.sessionState.conf.getAllConfs - TICKET
    now.foreach { case (key, value) => if (!binding.settings.get(key).orElse(Streams.usual(key)).contains(value)) changed.put(key, value) }
    (binding.settings.keySet -- now.keySet).foreach(changed.put(_, "")) // taken away, so that Spark's own default holds
    json.writeValueAsString(description)
  }

  private[headgate] def refused(why: String): RefusedException = new RefusedException(s"refused by the guard: $why")
}
