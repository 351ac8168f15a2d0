package org.apache.spark.sql.headgate

import org.apache.spark.{TaskContext, TaskKilledException}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression, LambdaFunction, LeafExpression, SubqueryExpression, UnaryExpression}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.types.DataType

/** Lets go of a query that loops within one row.
  *
  * Spark looks whether a task was told to stop between rows. Three `aggregate` within each other over 100,000 numbers each
  * hold a core for years with a single row, cancelled or not. So what is computed for each element looks as well.
  */
object Loops {
  def apply(plan: LogicalPlan): LogicalPlan =
    if (used(plan)) plan.transformAllExpressionsWithSubqueries { case LambdaFunction(body, arguments, hidden) if !looks(body) => LambdaFunction(Looking(body), arguments, hidden) }
    else plan

  private def used(plan: LogicalPlan): Boolean = plan.exists(_.expressions.exists(_.exists {
    case subquery: SubqueryExpression => used(subquery.plan)
    case function: LambdaFunction => !looks(function.function)
    case _ => false
  }))

  /** What is only handed on is done with as quickly as the elements are there. */
  private def looks(body: Expression): Boolean = body.isInstanceOf[Looking] || body.isInstanceOf[LeafExpression]

  def look(): Unit = {
    Option(TaskContext.get()).foreach(_.killTaskIfInterrupted())
    // Constants are computed by the planner, which has no task.
    if (Thread.currentThread().isInterrupted) throw new TaskKilledException("told to stop while computing with elements")
  }
}

/** The value of an expression, from a thread that was not told to stop. */
case class Looking(child: Expression) extends UnaryExpression {
  @transient private var values = 0

  override def dataType: DataType = child.dataType
  override def nullable: Boolean = child.nullable
  override def eval(row: InternalRow): Any = {
    values += 1
    if (values % Looking.OFTEN == 0) Loops.look()
    child.eval(row)
  }
  override protected def doGenCode(context: CodegenContext, made: ExprCode): ExprCode = {
    val values = context.addMutableState("int", "values")
    val inner = child.genCode(context)
    val look = s"org.apache.spark.sql.headgate.Loops.look();"
    inner.copy(code = code"if (++$values % ${Looking.OFTEN} == 0) $look" + inner.code)
  }
  override protected def withNewChildInternal(newChild: Expression): Looking = copy(child = newChild)
}

object Looking {
  private val OFTEN = 1000
}
