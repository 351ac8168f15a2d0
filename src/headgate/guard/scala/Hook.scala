package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode
import java.io.ByteArrayOutputStream
import java.nio.charset.StandardCharsets
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue}
import java.util.zip.{Deflater, DeflaterOutputStream}
import java.util.{Base64, Collections, UUID, WeakHashMap}
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{AnalysisException, Dataset, SparkSession => AnySession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.expressions.Alias
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession

/** The decision point, on the Python side: a description goes out, a recipe comes back. */
trait DecisionPoint {
  def decide(guard: String, description: String): String
  def authenticate(guard: String, token: String): String
}

/** A query that is not run, with what the user is told; of a kind that clients show without a trace. */
class RefusedException(text: String) extends AnalysisException(message = text)

/** Whom a session acts for. */
case class Binding(guard: String, user: String, settings: Map[String, String])

/** Puts the guard into a session: the hook on analysed plans, the rule that keeps files skippable, the fence's planning. */
class GuardExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectPlanNormalizationRule(session => new GuardRule(session))
    extensions.injectOptimizerRule(_ => PushLeakproof)
    extensions.injectPlannerStrategy(_ => PlanBarrier)
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
  private val took = new ConcurrentLinkedQueue[Long]()

  /** A copy of a session, as every streaming query makes one, knows by this setting whom it acts for. */
  private val TICKET = "spark.headgate.ticket"

  def register(decisionPoint: DecisionPoint): Unit = point = Option(decisionPoint)

  /** A new session in which everything runs as that user; tables are those of the parent. */
  def open(parent: AnySession, guard: String, user: String): SparkSession = {
    val extensions = new SparkSessionExtensions
    new GuardExtensions()(extensions)
    val from = parent.asInstanceOf[SparkSession]
    val options = from.sparkContext.conf.getAll.filter(_._1.startsWith("spark.sql.")).toMap
    val session = create(Seq(from.sparkContext, Some(from.sharedState), None, extensions, options, Map.empty[String, String]))
    bind(session, Binding(guard, user, session.sessionState.conf.getAllConfs))
    session
  }

  /** The constructor is hidden in the language and open in the byte code; its last parameter came with Spark 4.0. */
  private def create(values: Seq[Object]): SparkSession = {
    val constructor = classOf[SparkSession].getConstructors.maxBy(_.getParameterCount)
    constructor.newInstance(values.take(constructor.getParameterCount): _*).asInstanceOf[SparkSession]
  }

  /** Lets a session act for a user, once and for good; its copies know by the ticket. */
  private[sql] def bind(session: SparkSession, binding: Binding): Unit = bindings.synchronized {
    if (!bindings.containsKey(session)) {
      val ticket = UUID.randomUUID().toString
      tickets.put(ticket, binding)
      session.sessionState.conf.setConfString(TICKET, ticket)
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
  def enforce(session: SparkSession, plan: LogicalPlan): LogicalPlan = {
    val binding = bindingOf(session).getOrElse(throw refused("this session acts for nobody"))
    val start = System.nanoTime()
    val recipe = try {
      json.readTree(point.getOrElse(throw refused("the decision point is not there")).decide(binding.guard, packed(describe(session, binding, plan))))
    } catch {
      case refusal: RefusedException => throw refusal
      case error: Throwable => throw refused(s"the decision point cannot be reached (${error.getClass.getSimpleName})")
    }
    if (recipe == null || !recipe.isObject || (!recipe.has("refuse") && !recipe.has("permit"))) throw refused("the decision point gave no decision")
    if (recipe.has("refuse")) throw refused(recipe.get("refuse").asText)
    try {
      val guarded = new Apply(recipe)(plan)
      took.add(System.nanoTime() - start)
      if (took.size() > 10000) took.poll()
      guarded
    } catch { case error: Exception => throw refused(s"the decision cannot be applied to this plan (${error.getMessage})") }
  }

  /** Long texts are packed: the bridge to Python sends more than a few kilobytes in pieces, and waits 40 ms between them. */
  private def packed(text: String): String = if (text.length < 4000) text else {
    val bytes = new ByteArrayOutputStream()
    val out = new DeflaterOutputStream(bytes, new Deflater(Deflater.BEST_SPEED))
    out.write(text.getBytes(StandardCharsets.UTF_8))
    out.close()
    "z" + Base64.getEncoder.encodeToString(bytes.toByteArray)
  }

  /** How long describing, deciding and applying took together, in nanoseconds, for the last plans that were permitted. */
  def timings(): String = json.writeValueAsString(took.toArray)

  /** A frame with the values of a recipe's expressions, for those who want to see what they come to. */
  def evaluate(frame: Dataset[_], terms: String): Dataset[_] = {
    val data = frame.asInstanceOf[org.apache.spark.sql.classic.Dataset[_]]
    val plan = data.queryExecution.analyzed
    val build = new Build(plan.output.map(one => one.exprId.id -> one).toMap)
    val columns = json.readTree(terms).elements().asScala.map(build(_)).zipWithIndex.map { case (one, place) => Alias(one, s"c$place")() }
    org.apache.spark.sql.classic.Dataset.ofRows(data.sparkSession, Project(columns.toSeq, plan))
  }

  /** Where the files of these catalog tables are, as far as they are there and have any. */
  def locations(session: AnySession, names: String): String = {
    val state = session.asInstanceOf[SparkSession].sessionState
    val found = json.createObjectNode()
    json.readTree(names).elements().asScala.map(_.asText).foreach { name =>
      val identifier = state.sqlParser.parseTableIdentifier(name)
      if (state.catalog.tableExists(identifier)) {
        val table = state.catalog.getTableMetadata(identifier)
        table.storage.locationUri.foreach(uri => found.putArray(name).add(uri.toString).add(table.provider.getOrElse("")))
      }
    }
    json.writeValueAsString(found)
  }

  /** What the decision point would be told of a plan, which is not run. */
  def describe(session: AnySession, plan: LogicalPlan): String = {
    val bound = session.asInstanceOf[SparkSession]
    describe(bound, bindingOf(bound).getOrElse(throw refused("this session acts for nobody")), plan)
  }

  private def describe(session: SparkSession, binding: Binding, plan: LogicalPlan): String = {
    val description: ObjectNode = new Describe()(plan)
    description.put("guard", binding.guard).put("user", binding.user)
    val changed = description.putObject("settings")
    val now = session.sessionState.conf.getAllConfs - TICKET
    now.foreach { case (key, value) => if (!binding.settings.get(key).contains(value)) changed.put(key, value) }
    json.writeValueAsString(description)
  }

  private[sql] def authenticate(guard: String, token: String): Option[String] =
    try point.map(_.authenticate(guard, token)).filter(_.nonEmpty) catch { case _: Throwable => None }

  private def refused(why: String): RefusedException = new RefusedException(s"refused by the guard: $why")
}
