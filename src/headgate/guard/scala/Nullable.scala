package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.DataType

/** What a plan says of its columns, after cells that were never NULL may be NULL.
  *
  * Each reference to a column says whether that may be NULL, as it was when the plan was analysed, and Spark goes by it: it
  * makes `n IS NULL` false and counts rows where it should count `n`. So do lists of columns that an operator keeps.
  */
object Nullable {
  def apply(plan: LogicalPlan): LogicalPlan = plan.transformUpWithSubqueries { case node => made(referring(node)) }

  /** References as the columns are below, those of the query around in subqueries included. */
  private def referring(node: LogicalPlan): LogicalPlan = {
    val inside = node.expressions.flatMap(_.collect { case one: LateralSubquery => one.plan.output }).flatten
    val below = (node.children.flatMap(_.output) ++ inside).map(one => one.exprId -> one).toMap
    def now(one: AttributeReference): AttributeReference = below.get(one.exprId) match {
      case Some(found) if found.nullable != one.nullable || found.dataType != one.dataType =>
        one.copy(dataType = found.dataType, nullable = found.nullable)(one.exprId, one.qualifier)
      case _ => one
    }
    node.transformExpressions {
      case one: AttributeReference => now(one)
      case one: NamedLambdaVariable if !one.nullable => one.copy(nullable = true)
      case subquery: SubqueryExpression => subquery.withNewPlan(subquery.plan.transformAllExpressionsWithSubqueries {
        case OuterReference(one: AttributeReference) => OuterReference(now(one))
      })
    }
  }

  /** Columns that an operator makes, as they are made now. */
  private def made(node: LogicalPlan): LogicalPlan = node match {
    case one: Generate =>
      val fields = one.generator.elementSchema.fields
      one.copy(generatorOutput = one.generatorOutput.zip(fields).map { case (column, field) => changed(column, field.dataType, one.outer || field.nullable) })
    case one: Expand =>
      one.copy(output = one.output.zipWithIndex.map { case (column, place) =>
        val values = one.projections.map(_(place))
        val typed = values.find(_.nullable).filter(_.dataType.sameType(column.dataType)).getOrElse(column)
        changed(column, typed.dataType, values.exists(_.nullable))
      })
    case other => other
  }

  private def changed(column: Attribute, kind: DataType, nullable: Boolean): Attribute = column match {
    case one: AttributeReference => one.copy(dataType = kind, nullable = nullable)(one.exprId, one.qualifier)
    case other => other.withNullability(nullable)
  }
}
