package org.apache.spark.sql.headgate

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{DataType, IntegerType}

/** What comes of an expression for a row: whether it is true or has any other value, or fails, or is false or NULL. */
case class Outcome(child: Expression) extends Expression with CodegenFallback {
  override def children: Seq[Expression] = Seq(child)
  override def dataType: DataType = IntegerType
  override def nullable: Boolean = false
  override def eval(input: InternalRow): Any =
    try child.eval(input) match { case null | false => Outcome.NOT; case _ => Outcome.HOLDS }
    catch { case _: Exception | _: StackOverflowError => Outcome.FAILS }
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Outcome = copy(child = newChildren.head)
}

object Outcome {
  /** In this order: what does not hold of a row in one part does not hold, whatever comes of other parts. */
  val NOT = 0
  val FAILS = 1
  val HOLDS = 2

  def all(parts: Seq[Expression]): Expression = Least(Seq(Literal(HOLDS), Literal(HOLDS)) ++ parts.map(Outcome(_)))
}

/** A table's columns by their names, which are theirs in whatever plan it stands. */
object Columns {
  private val known = new ConcurrentHashMap[String, ExprId]()

  def of(column: Attribute): AttributeReference = AttributeReference(column.name.toLowerCase, column.dataType)(id(column))
  def id(column: Attribute): ExprId = known.computeIfAbsent(column.name.toLowerCase, _ => NamedExpression.newExprId)
}

/** How many rows of a table are in the same classes of all questions, how many of these are not `seen`, what the neediest
  * of them needs for each question, and whether it is not known of one of them where it belongs.
  */
object Atoms {
  def apply(leaf: LogicalPlan, questions: Seq[Question], seen: Option[Expression], limit: Int): LogicalPlan = {
    val states = questions.zipWithIndex.map { case (one, place) => Alias(state(one, leaf), s"s$place")() }
    val classes = questions.zip(states).zipWithIndex.map { case ((one, state), place) => Alias(where(state, keys(one, leaf)), s"c$place")() }
    val needs = questions.zip(states).map { case (one, state) => Alias(where(state, here(one.need, leaf)), "need")() }
    val unseen = Alias(seen.fold[Expression](Literal(1))(one => If(EqualTo(Outcome(one), Literal(Outcome.HOLDS)), Literal(null, IntegerType), Literal(1))), "unseen")()
    val doubt = Alias(states.map(state => EqualTo(state.toAttribute, Literal(Outcome.FAILS)): Expression).reduce(Or), "doubt")()
    val rows = Project((classes ++ needs) :+ unseen :+ doubt, Project(leaf.output ++ states, leaf))
    val sizes = Seq(Literal(1), unseen.toAttribute).map(one => Alias(Count(one).toAggregateExpression(), "size")())
    val most = (needs :+ doubt).map(one => Alias(Max(one.toAttribute).toAggregateExpression(), one.name)())
    val groups = classes.map(_.toAttribute)
    Limit(Literal(limit), Aggregate(groups, groups ++ sizes ++ most, rows))
  }

  /** Whether it is not known of a row in an atom where it belongs. */
  def doubtful(atom: Row): Boolean = atom.getBoolean(atom.length - 1)

  /** INVARIANT: nothing that a user wrote is computed of a row that the policies do not let through. */
  private def state(one: Question, leaf: LogicalPlan): Expression = {
    val through = Outcome.all(one.rows.toSeq.map(here(_, leaf)))
    If(EqualTo(through, Literal(Outcome.HOLDS)), Outcome.all(one.where.toSeq.map(here(_, leaf)) :+ keys(one, leaf)), through)
  }

  private def keys(one: Question, leaf: LogicalPlan): Expression =
    CreateStruct(Literal(1) +: one.keys.toSeq.sortBy(_.written.toString).map(here(_, leaf)))

  private def where(state: Alias, value: Expression): Expression =
    If(EqualTo(state.toAttribute, Literal(Outcome.HOLDS)), Silent(value), Literal(null, value.dataType))

  private def here(one: Stated, leaf: LogicalPlan): Expression = {
    val named = leaf.output.map(column => Columns.id(column) -> column).toMap
    one.written.transform { case a: Attribute => named.getOrElse(a.exprId, Build.broken(s"no column ${a.name}")) }
  }
}
