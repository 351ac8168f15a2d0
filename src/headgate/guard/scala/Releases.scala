package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import java.util.concurrent.ConcurrentHashMap
import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession

/** What users have been told about groups of rows, so that answers are not subtracted from each other.
  *
  * Only what a recipe names is watched: aggregates over columns for which the policies ask for a least size of groups.
  */
object Releases {
  private type Key = (String, String, String)
  private val MOST_QUESTIONS = 50
  private val MOST_ATOMS = 20000
  private val json = new ObjectMapper()
  private val told = new ConcurrentHashMap[Key, Vector[Question]]()
  private val locks = new ConcurrentHashMap[(String, String), Object]()

  /** Why the plan would tell too much together with what its user was told before; else it is noted as told, and the
    * answer is whether it is told once only: the same plan may tell of other rows when it runs again. One that `stays` is
    * not asked about when it does.
    */
  def check(session: SparkSession, binding: Binding, recipe: JsonNode, plan: LogicalPlan, numbers: Numbers, stays: Boolean): Either[String, Boolean] =
    if (recipe.path("releases").isEmpty) scala.util.Right(false)
    else locks.computeIfAbsent((binding.guard, binding.user), _ => new Object).synchronized {
      val nodes = Behind.numbered(plan)
      val behind = new Behind(nodes)
      val now = mutable.Map.empty[Key, Vector[Question]]
      val refusal = recipe.get("releases").elements().asScala.flatMap { release =>
        val key = (binding.guard, binding.user, release.get("column").asText)
        val leaf = nodes(release.get("leaf").asInt)
        val node = nodes(release.get("aggregate").asInt)
        alone(behind(node), leaf, key._3).orElse {
          val asked = question(session, node, behind, leaf, release, recipe, numbers)
          val seen = Option(release.get("seen")).filterNot(_.isNull).map(new Build(leaf.output.map(one => numbers(one.exprId) -> one).toMap)(_))
          val (questions, differs) = joined(now.getOrElse(key, told.getOrDefault(key, Vector.empty)), asked, seen.nonEmpty)
          now(key) = questions
          val problem = if (differs) problemOf(session, binding, release.get("least").asInt, leaf, questions, seen) else None
          if (stays && asked.moving) Some(s"groups of `${key._3}` that may be of other rows each time are asked for through the session that was given out")
          else problem.map(text => s"this and what ${if (questions.size > 1) "was asked before about" else "may be read of"} `${key._3}` $text; ask with the same conditions and groups, or about larger parts")
        }
      }.nextOption()
      if (refusal.isEmpty) now.foreach { case (key, questions) => told.put(key, questions) }
      refusal.toLeft(now.values.exists(_.exists(_.moving)))
    }

  /** What is wrong with a question that is many, whatever was asked before: their answers could be subtracted. */
  private def alone(nodes: Seq[LogicalPlan], leaf: LogicalPlan, column: String): Option[String] =
    if (leaf.isStreaming && Extent.of(leaf).piecemeal) Some(s"a stream about `$column` is read without options that make its batches smaller")
    else if (nodes.exists(Steady.recomputed)) Some(s"groups of `$column` are not made with rows that a program computes anew each time; keep these first, with localCheckpoint()")
    else if (correlated(nodes)) Some(s"groups of `$column` are not computed for each row of the query around; join them instead")
    else None

  /** Whether what a node is made of depends on rows of a query around it. */
  private def correlated(nodes: Seq[LogicalPlan]): Boolean = {
    val made = nodes.flatMap(_.output).map(_.exprId).toSet
    nodes.exists(_.expressions.exists(_.exists { case OuterReference(a: Attribute) => !made(a.exprId); case _ => false }))
  }

  /** The questions with this one, and whether that makes a difference: to others, or to what may be read beside it. */
  private def joined(known: Vector[Question], asked: Question, read: Boolean): (Vector[Question], Boolean) = known.indexWhere(_.sameRows(asked)) match {
    case -1 => (known :+ asked, known.nonEmpty || (read && asked.comparable))
    case place if asked.kinds.subsetOf(known(place).kinds) => (known, false)
    case place => (known.updated(place, known(place).copy(kinds = known(place).kinds ++ asked.kinds)), known.size > 1 || (read && asked.comparable))
  }

  private def problemOf(session: SparkSession, binding: Binding, need: Int, leaf: LogicalPlan, questions: Vector[Question], seen: Option[Expression]): Option[String] =
    if (!questions.forall(_.comparable) || questions.map(_.extent).distinct.size > 1) Some("cannot be compared")
    // Conditions are looked at again as the session is set now.
    else if (questions.exists(one => one.settings.nonEmpty && one.settings != Steady.settings(session, ordered = false))) Some("cannot be compared")
    else if (questions.size > MOST_QUESTIONS) Some("are too many different questions to compare")
    else try {
      val rows = Hook.collect(session, Hook.stoppable(binding, Atoms(leaf, questions, seen, MOST_ATOMS + 1)))
      if (rows.length > MOST_ATOMS) Some("make too many different parts to compare")
      else if (rows.exists(Atoms.doubtful)) Some("have a condition or a key that fails for some rows, and cannot be compared")
      else Hook.compare(binding.guard, letter(questions, rows)) match {
        case "" => None
        case "too many steps" => Some("are too much to compare")
        case _ => Some(s"together tell of fewer than $need rows")
      }
    } catch { case error: Exception => Some(s"could not be compared (${error.getClass.getSimpleName})") }

  /** What the decision point is asked: rows by their classes, which are numbered for each question. */
  private def letter(questions: Seq[Question], rows: Array[Row]): String = {
    val result = json.createObjectNode()
    val kinds = result.putArray("kinds")
    questions.foreach { one =>
      val list = kinds.addArray()
      one.kinds.foreach(list.add(_))
    }
    val (atoms, needs) = (result.putArray("atoms"), result.putArray("needs"))
    val classes = Vector.fill(questions.size)(mutable.Map.empty[Any, Int])
    rows.foreach { row =>
      val atom = atoms.addArray()
      classes.zipWithIndex.foreach { case (known, place) => atom.add(if (row.isNullAt(place)) -1 else known.getOrElseUpdate(row.get(place), known.size)) }
      atom.add(row.getLong(questions.size)).add(row.getLong(questions.size + 1))
      val each = needs.addArray()
      questions.indices.foreach(place => each.add(Option(row.get(questions.size + 2 + place)).fold(0)(_.asInstanceOf[Int])))
    }
    json.writeValueAsString(result)
  }

  // What is asked -----------------------------------------------------------------------------------------------------

  private def question(session: SparkSession, node: LogicalPlan, behind: Behind, leaf: LogicalPlan, release: JsonNode, recipe: JsonNode, numbers: Numbers): Question = {
    val kinds = release.get("kinds").elements().asScala.map(_.asText).toSet
    val steady = node match {
      case aggregate: Aggregate => behind.below(aggregate).forall(Steady.is) && aggregate.groupingExpressions.forall(Steady.is)
      case _ => false
    }
    val form = node match {
      // What is left of a condition that was removed is not what was written.
      case aggregate: Aggregate if steady && recipe.get("removed").isEmpty =>
        val quiet = Quiet(recipe, numbers)
        val keys = quiet(aggregate).asInstanceOf[Aggregate].groupingExpressions
        simple(aggregate.child, leaf, quiet, keys, Nil).map { case (keys, where) => (keys.map(spelt), where.map(spelt).flatMap(Conjuncts.of)) }
      case _ => None
    }
    // INVARIANT: two functions of one aggregate may be of other rows, and two tables in it may be the same one.
    def about = (behind(node).indexWhere(_ eq leaf), Option(release.get("there")).filterNot(_.isNull).map(new Build(leaf.output.map(one => numbers(one.exprId) -> one).toMap)(_)).map(named))
    val read = Extent.of(leaf)
    val extent = if (leaf.isStreaming) read.ofAllBatches else Some(read)
    form match {
      case Some((keys, where)) if keys.forall(key => Steady.exact(key.dataType)) && (keys ++ where).forall(comparable) && extent.isDefined && (!leaf.isStreaming || (keys ++ where).forall(Steady.settled)) =>
        val (cells, rows, need) = covered(leaf, recipe.get("guards").path(release.get("leaf").asText), release.get("key").asText, numbers)
        val settings = if ((keys ++ where).forall(Steady.settled)) Map.empty[String, String] else Steady.settings(session, ordered = false)
        Question(where.map(cells).map(named).toSet, keys.map(cells).map(named).toSet, rows.map(named).toSet, kinds, leaf.isStreaming, named(need), extent.get, settings)
      case _ if leaf.isStreaming => Question(Set.empty, Set.empty, Set.empty, kinds, true, other = Some((session.sparkContext.getLocalProperty("sql.streaming.queryId"), about)))
      case _ if !steady => Question(Set.empty, Set.empty, Set.empty, kinds, false, other = Some(new Moving))
      case _ => Question(Set.empty, Set.empty, Set.empty, kinds, false, settings = Steady.settings(session, ordered = true), other = Some((node.canonicalized, behind.definitions(node), about)))
    }
  }

  /** What the guard makes of the leaf's columns in an expression, the rows that it lets through, and what each needs. */
  private def covered(leaf: LogicalPlan, guard: JsonNode, need: String, numbers: Numbers): (Expression => Expression, Seq[Expression], Expression) = {
    val build = new Build(leaf.output.map(one => numbers(one.exprId) -> one).toMap)
    val cells = guard.path("cells").elements().asScala.map(cell => cell.get(0).asLong -> build(cell.get(1))).toMap
    val needed = guard.get("carried").elements().asScala.find(_.get("key").asText == need).getOrElse(Build.broken(s"no column $need"))
    val size = build(needed.get("value"))
    val rows = Option(guard.get("where")).map(build(_)).toSeq :+ IsNotNull(size)
    // A cell is made of the raw column, whose name is the same: what was put in place is not looked at again.
    (_.transformUp { case a: Attribute => cells.getOrElse(numbers(a.exprId), a) }, rows, size)
  }

  /** Keys and conditions by the columns of the leaf, if there is nothing but projections and filters above it.
    *
    * INVARIANT: they raise an error for the same rows as in the plan, and are NULL for the same ones instead.
    */
  private def simple(plan: LogicalPlan, leaf: LogicalPlan, quiet: Quiet, keys: Seq[Expression], where: Seq[Expression]): Option[(Seq[Expression], Seq[Expression])] =
    if (plan eq leaf) Some((keys, where)) else quiet(plan) match {
      case SubqueryAlias(_, child) => simple(child, leaf, quiet, keys, where)
      case view: View if view.isTempView => simple(view.child, leaf, quiet, keys, where)
      case Filter(condition, child) => simple(child, leaf, quiet, keys, where ++ Conjuncts.of(condition))
      case Project(list, child) =>
        val made = list.collect { case alias: Alias => alias.exprId -> alias.child }.toMap
        def below(one: Expression): Expression = one.transform { case a: Attribute if made.contains(a.exprId) => made(a.exprId) }
        simple(child, leaf, quiet, keys.map(below), where.map(below))
      case _ => None
    }

  /** An expression without names for parts of it, as `x BETWEEN 1 AND 9` has one for `x`. */
  private def spelt(one: Expression): Expression = one.transformUp {
    case shorthand: RuntimeReplaceable => shorthand.replacement
    case named: With =>
      val parts = named.defs.map(part => part.id -> part.child).toMap
      named.child.transform { case reference: CommonExpressionRef => parts.getOrElse(reference.id, reference) }
  }

  /** Whether an expression is about nothing but the row it is put to. */
  private def comparable(one: Expression): Boolean = Steady.is(one) && !one.exists {
    case _: SubqueryExpression | _: OuterReference => true
    case _ => false
  }

  private def named(one: Expression): Stated = new Stated(one.transform { case a: Attribute => Columns.of(a) })
}
