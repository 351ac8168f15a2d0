package org.apache.spark.sql.headgate

import scala.collection.mutable
import scala.util.Try

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical._

/** Whether something that a user wrote could tell of rows that it is put to: by an error, or by an effect of its own.
  *
  * The optimiser evaluates predicates where it likes, and puts into them what their columns are made of. In a plan in
  * which nothing tells, that is of no consequence, and guards need no fence: Spark then prunes partitions by joins,
  * shares scans and draws conclusions as it does without guards. What is said of the values of groups is not said of
  * rows, and the optimiser keeps it above the groups; unless it is said that a value of a group equals one of a row, of
  * which the optimiser then says the same. What is aggregated is computed of rows that guards have let through; unless two
  * aggregates without keys become one, which then goes through the rows of both, and computes first and filters second.
  *
  * INVARIANT: what is not known to be silent tells.
  */
class Telling private {
  private val fused = mutable.Set.empty[ExprId]
  /** Which columns of common table expressions are made of groups. Definitions come before what refers to them. */
  private val defined = mutable.Map.empty[Long, Seq[Boolean]]
  /** Whether something that is said of groups would tell, if it were said of rows. */
  private var loud = false
  /** Whether values of groups and of rows are said to be equal. */
  private var equated = false
  /** Whether what is aggregated would tell of rows that the aggregate is not about. */
  private var computed = false
  /** How many aggregates have no keys: those Spark makes one of, whatever filters they have. Ones with keys it merges only
    * if their filters are the same, as a group of no rows would be one more. What a common table expression is made of has
    * the same guard wherever it is put, and counts once. */
  private var keyless = 0

  private def visit(plan: LogicalPlan): Boolean = {
    val below = plan.children.map(visit)
    val inside = plan.expressions.flatMap(_.collect { case one: SubqueryExpression => visit(one.plan) })
    below.contains(true) || inside.contains(true) || own(plan)
  }

  private def own(plan: LogicalPlan): Boolean = plan match {
    case aggregate: Aggregate =>
      if (aggregate.groupingExpressions.isEmpty) keyless += 1
      computed ||= aggregate.groupingExpressions.isEmpty && aggregate.aggregateExpressions.exists(_.exists {
        case one: AggregateExpression => !one.aggregateFunction.children.forall(taken => silent(taken) || ofGroups(taken))
        case _ => false
      })
      aggregate.groupingExpressions.exists(tells) || aggregate.aggregateExpressions.exists(made)
    case window: Window => (window.partitionSpec ++ window.orderSpec).exists(tells) || window.windowExpressions.exists(made)
    case project: Project => project.projectList.exists(made)
    // The optimiser moves conjuncts one by one: those about groups stay above them whatever stands beside them.
    case filter: Filter => Conjuncts.of(filter.condition).exists(tells)
    case join: Join => join.condition.toSeq.flatMap(Conjuncts.of).exists(tells)
    case _: Union | _: SetOperation =>
      if (plan.isInstanceOf[SetOperation]) equated ||= plan.output.indices.exists(place => plan.children.map(child => fused(child.output(place).exprId)).distinct.size > 1)
      plan.output.zipWithIndex.foreach { case (one, place) => if (!plan.children.forall(child => fused(child.output(place).exprId))) fused -= one.exprId }
      plan.expressions.exists(tells)
    case definition: CTERelationDef =>
      defined(definition.id) = definition.output.map(one => fused(one.exprId))
      false
    case reference: CTERelationRef if defined.contains(reference.cteId) =>
      reference.output.zip(defined(reference.cteId)).foreach { case (one, ofGroups) => if (ofGroups) fused += one.exprId else fused -= one.exprId }
      false
    case other =>
      // A view has a guard of its own, above whatever it is made of; and a recursive query is of more than its anchor.
      if (other.isInstanceOf[View] || Apply.positional(other)) fused --= other.output.map(_.exprId)
      other.expressions.exists(tells)
  }

  /** Whether what makes a column tells; a column that is made of groups is noted as such. */
  private def made(column: NamedExpression): Boolean = column match {
    case Alias(child, _) if child.exists(one => one.isInstanceOf[AggregateExpression] || one.isInstanceOf[WindowExpression]) =>
      fused += column.exprId
      child.exists { case one: AggregateExpression => one.filter.exists(tells); case _ => false }
    case Alias(child, _) if ofGroups(child) =>
      fused += column.exprId
      loud ||= !silent(child)
      false
    case other => tells(other)
  }

  private def ofGroups(one: Expression): Boolean = one.references.nonEmpty && one.references.forall(a => fused(a.exprId)) && !one.exists(_.isInstanceOf[SubqueryExpression])

  private def tells(one: Expression): Boolean = {
    equated ||= one.exists {
      // To the optimiser a list of one is an equation.
      case equation @ (_: EqualTo | _: EqualNullSafe | _: In | _: InSubquery) => columns(equation).map(fused).distinct.size > 1
      case _ => false
    }
    if (ofGroups(one)) loud ||= !silent(one)
    !ofGroups(one) && !silent(one)
  }

  /** What an expression speaks of, those of the query around and what subqueries give out included. */
  private def columns(one: Expression): Seq[ExprId] = one.collect {
    case a: Attribute => Seq(a.exprId)
    case OuterReference(a) => Seq(a.exprId)
    case subquery: SubqueryExpression => subquery.plan.output.map(_.exprId)
  }.flatten

  private def silent(one: Expression): Boolean = one match {
    case _: Attribute | _: Literal | _: OuterReference | _: CommonExpressionRef => true
    case constant if constant.foldable && !constant.exists(_.isInstanceOf[UserDefinedExpression]) => Try(constant.eval()).isSuccess
    case replaceable: RuntimeReplaceable => silent(replaceable.replacement)
    case cast: Cast => Cast.canUpCast(cast.child.dataType, cast.dataType) && silent(cast.child)
    case _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: BinaryComparison | _: In | _: InSet => one.children.forall(silent)
    case _: Alias | _: SortOrder | _: CaseWhen | _: If | _: Coalesce | _: With | _: CommonExpressionDef => one.children.forall(silent)
    case _: StartsWith | _: EndsWith | _: Contains | _: Substring | _: Upper | _: Lower | _: ToPrettyString => one.children.forall(silent)
    case _: InSubquery | _: ListQuery | _: Exists | _: ScalarSubquery => one.children.forall(silent)
    case _ => false
  }
}

object Telling {
  def in(plan: LogicalPlan): Boolean = {
    val telling = new Telling()
    telling.visit(plan) || (telling.loud && telling.equated) || (telling.computed && telling.keyless > 1)
  }
}
