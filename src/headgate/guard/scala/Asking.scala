package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.expressions.{CurrentUser, Literal}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE

/** Who asks is the user: to Spark `current_user()` is the account that it runs under, which is nobody's business. */
object Asking {
  def by(user: String, plan: LogicalPlan): LogicalPlan =
    if (!plan.containsPattern(CURRENT_LIKE)) plan
    else plan.transformAllExpressionsWithSubqueries { case one: CurrentUser => Literal.create(user, one.dataType) }
}
