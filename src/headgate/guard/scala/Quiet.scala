package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.DataType

/** The value of an expression, NULL where it raises an error.
  *
  * Spark's own `TryEval` does not hold: the optimiser moves it into branches, and common subexpressions are taken out
  * of it. This one is a kind the optimiser does not know, and into which generated code does not look.
  */
case class Silent(child: Expression) extends Expression with CodegenFallback {
  override def children: Seq[Expression] = Seq(child)
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = true
  override def eval(input: InternalRow): Any = try child.eval(input) catch { case _: Exception => null }
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Silent = copy(child = newChildren.head)
}

/** Expressions over values that may be used but not seen give NULL where they would raise an error: an error tells. */
class Quiet(hidden: Set[Long], numbers: Numbers) {
  def apply(plan: LogicalPlan): LogicalPlan = if (hidden.isEmpty) plan else plan match {
    case Filter(condition, child) => Filter(Conjuncts.of(condition).map(wrapped).reduce(And), child)
    case join: Join => join.copy(condition = join.condition.map(Conjuncts.of(_).map(wrapped).reduce(And)))
    case aggregate: Aggregate =>
      val loud = aggregate.groupingExpressions.filter(raises)
      aggregate.copy(
        groupingExpressions = aggregate.groupingExpressions.map(wrapped),
        aggregateExpressions = aggregate.aggregateExpressions.map(inAggregate(_, loud).asInstanceOf[NamedExpression])
      )
    case other => other.mapExpressions {
      case alias: Alias => alias.withNewChildren(Seq(inside(alias.child)))
      case order: SortOrder => order.withNewChildren(wrapped(order.child) +: order.children.tail)
      case one => one
    }
  }

  private def inside(one: Expression): Expression = one match {
    case _: WindowExpression | _: Generator => one.mapChildren(inside)
    case aggregate: AggregateExpression => aggregate.mapChildren(inside)
    case function: AggregateFunction => function.mapChildren(wrapped)
    case function: WindowFunction => function
    case spec: WindowSpecDefinition => spec
    case other => wrapped(other)
  }

  private def inAggregate(one: Expression, keys: Seq[Expression]): Expression = one match {
    case key if keys.exists(_.semanticEquals(key)) => Silent(key)
    case aggregate: AggregateExpression => inside(aggregate)
    case other => other.mapChildren(inAggregate(_, keys))
  }

  private def wrapped(one: Expression): Expression = if (raises(one)) Silent(one) else one

  private def raises(one: Expression): Boolean = one.references.exists(a => hidden(numbers(a.exprId))) && !safe(one) && !one.exists(_.isInstanceOf[SubqueryExpression])

  private def safe(one: Expression): Boolean = one match {
    case _: Attribute | _: Literal | _: OuterReference => true
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: BinaryComparison | _: In | _: InSet | _: CaseWhen | _: If | _: Coalesce => one.children.forall(safe)
    case cast: Cast => Cast.canUpCast(cast.child.dataType, cast.dataType) && safe(cast.child)
    case _ => false
  }
}
