package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}

/** A condition that is not put to the files, because next to nothing could be skipped by it.
  *
  * Parquet looks through a block's dictionary, all values of a column in it, to find whether a comparison can hold of
  * one. That a value differs from a constant can be ruled out only where all are that constant, and looking took an
  * eighth of the time of a scan. Databases are asked all the same: there it saves rows on the way.
  */
case class Unskippable(child: Expression) extends TaggingExpression {
  override protected def withNewChildInternal(newChild: Expression): Unskippable = copy(child = newChild)
}

object Unskippable {
  /** What a policy puts to a plan: a condition, or a cell under one. */
  def in(one: Expression, plan: LogicalPlan): Expression = if (files(plan)) apart(one) else one

  private def apart(one: Expression): Expression = one match {
    case Cell(value, allowed) => Cell(value, apart(allowed))
    case And(left, right) => And(apart(left), apart(right))
    case Or(left, right) => Or(apart(left), apart(right))
    case Not(Or(left, right)) => And(apart(Not(left)), apart(Not(right)))
    case Not(EqualTo(_: LeafExpression, _: LeafExpression)) => Unskippable(one)
    case other => other
  }

  private def files(plan: LogicalPlan): Boolean = plan.collectLeaves().forall {
    case read: LogicalRelation => read.relation.isInstanceOf[HadoopFsRelation]
    case _ => false
  }
}
