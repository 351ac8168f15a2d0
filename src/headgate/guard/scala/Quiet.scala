package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.JsonNode
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.CodegenFallback
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.DataType

/** The value of an expression, NULL where it raises an error.
  *
  * Spark's own `TryEval` does not hold: the optimiser moves it into branches, and common subexpressions are taken out
  * of it. This one is a kind the optimiser does not know, and into which generated code does not look. A value that is so
  * long that a pattern takes the whole stack for it would tell of itself as well.
  */
case class Silent(child: Expression) extends Expression with CodegenFallback {
  override def children: Seq[Expression] = Seq(child)
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = true
  override def eval(input: InternalRow): Any = try child.eval(input) catch { case _: Exception | _: StackOverflowError => null }
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Silent = copy(child = newChildren.head)
}

/** Expressions over values that may be used but not seen give NULL where they would raise an error: an error tells. */
class Quiet(hidden: Set[Long], numbers: Numbers) {
  def apply(plan: LogicalPlan): LogicalPlan = if (hidden.isEmpty) plan else plan match {
    // Rows that are handed over are masked by then; what makes objects of them is Spark's own.
    case _: ObjectProducer | _: ObjectConsumer => plan
    case Filter(condition, child) => Filter(conjuncts(condition), child)
    case join: Join => join.copy(condition = join.condition.map(conjuncts))
    case join: LateralJoin => join.copy(condition = join.condition.map(conjuncts))
    case aggregate: Aggregate =>
      val loud = aggregate.groupingExpressions.filter(raises)
      aggregate.copy(
        groupingExpressions = aggregate.groupingExpressions.map(whole),
        aggregateExpressions = aggregate.aggregateExpressions.map(overGroups(_, loud).asInstanceOf[NamedExpression])
      )
    case other => other.mapExpressions {
      case alias: Alias => alias.withNewChildren(Seq(inside(alias.child)))
      case one => inside(one)
    }
  }

  private def conjuncts(condition: Expression): Expression = Conjuncts.of(condition).map(wrapped).reduce(And)

  private def inside(one: Expression): Expression = one match {
    case _: WindowExpression | _: Generator => one.mapChildren(inside)
    case aggregate: AggregateExpression => aggregate.mapChildren(inside)
    case function: AggregateFunction => function.mapChildren(wrapped)
    case function: WindowFunction => function
    case spec: WindowSpecDefinition => spec
    case other => wrapped(other)
  }

  /** Keys as they are grouped by, aggregates of what is quiet, and what is made of both. */
  private def overGroups(column: NamedExpression, keys: Seq[Expression]): Expression = {
    def below(one: Expression): Expression = one match {
      case key if keys.exists(_.semanticEquals(key)) => whole(key)
      case aggregate: AggregateExpression => inside(aggregate)
      case other => other.mapChildren(below)
    }
    column match {
      case alias: Alias => alias.withNewChildren(Seq(wrapped(below(alias.child))))
      case other => below(other)
    }
  }

  /** An expression that raises no error. Of what Spark makes joins of, comparisons and memberships, the sides do not. */
  private def wrapped(one: Expression): Expression = one match {
    case _ if !raises(one) => one
    case _: SortOrder | _: BinaryComparison | _: InSubquery => one.mapChildren(wrapped)
    // INVARIANT: of a row each field by itself. A query may take out one of them, and is asked about that one only.
    case _: CreateNamedStruct | _: KnownNotNull | _: KnownNullable => one.mapChildren(wrapped)
    case _: And | _: Or | _: Not if one.exists(_.isInstanceOf[SubqueryExpression]) => one.mapChildren(wrapped)
    case _ => whole(one)
  }

  /** An expression as one that raises no error, and so does not what Spark takes out of it to compute it elsewhere. */
  private def whole(one: Expression): Expression = if (!raises(one)) one else Silent(one.transformDown {
    case membership: InSubquery => membership.mapChildren(wrapped)
    case common: CommonExpressionDef => common.mapChildren(wrapped)
  })

  private def raises(one: Expression): Boolean = sees(one) && !safe(one)

  /** Whether an expression looks at a value that may not be seen, of a row of its own or of the query around. */
  private def sees(one: Expression): Boolean = one match {
    case a: Attribute => hidden(numbers(a.exprId))
    case OuterReference(a) => hidden(numbers(a.exprId))
    case aggregate: AggregateExpression if fuses(aggregate.aggregateFunction) => false
    case subquery: SubqueryExpression => subquery.children.exists(sees) || given(subquery).exists(a => hidden(numbers(a.exprId)))
    case other => other.children.exists(sees)
  }

  /** What a subquery gives out; of EXISTS it is only whether there is a row. */
  private def given(subquery: SubqueryExpression): Seq[Attribute] = subquery match {
    case _: Exists => Nil
    case other => other.plan.output
  }

  private def safe(one: Expression): Boolean = one match {
    case _: Attribute | _: Literal | _: OuterReference | _: Silent => true
    case aggregate: AggregateExpression => fuses(aggregate.aggregateFunction) || aggregate.children.forall(_.children.forall(safe))
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: BinaryComparison | _: In | _: InSet | _: CaseWhen | _: If | _: Coalesce => one.children.forall(safe)
    case _: SubqueryExpression | _: InSubquery | _: SortOrder => one.children.forall(safe)
    case cast: Cast => Cast.canUpCast(cast.child.dataType, cast.dataType) && safe(cast.child)
    case _ => false
  }

  /** Whether many values become one that is none of them, or that the policies give out as a value of the group. */
  private def fuses(function: AggregateFunction): Boolean = function match {
    case _: Count | _: Sum | _: Average | _: Min | _: Max | _: First | _: Last | _: CentralMomentAgg | _: Covariance | _: PearsonCorrelation => true
    case _ => false
  }
}

object Quiet {
  /** By what a recipe says of a plan. */
  def apply(recipe: JsonNode, numbers: Numbers): Quiet = new Quiet(recipe.path("quiet").elements().asScala.map(_.asLong).toSet, numbers)
}
