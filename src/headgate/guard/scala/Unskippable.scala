package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, FileTable}
import org.apache.spark.sql.types._

/** A condition that is not put to the files or the database that a table is in: Spark itself decides on it.
  *
  * Parquet looks through a block's dictionary, all values of a column in it, to find whether a comparison can hold of
  * one. That a value differs from a constant can be ruled out only where all are that constant, and looking took an
  * eighth of the time of a scan. Databases are asked all the same: there it saves rows on the way.
  *
  * But Spark takes a database's word for it, and to one `'A '` equals `'A'`, to another `'a'` does; and it writes a time
  * for it in a zone that users set. So a database may leave rows out by such a condition, and Spark looks at the others again.
  */
case class Unskippable(child: Expression) extends TaggingExpression {
  override protected def withNewChildInternal(newChild: Expression): Unskippable = copy(child = newChild)
}

object Unskippable {
  /** What a policy puts to a plan: a condition, a cell under one, or another value. */
  def in(one: Expression, plan: LogicalPlan): Expression = if (files(plan)) apart(one) else if (answered(plan)) again(one) else one

  private def apart(one: Expression): Expression = one match {
    case Cell(value, allowed) => Cell(value, apart(allowed))
    case And(left, right) => And(apart(left), apart(right))
    case Or(left, right) => Or(apart(left), apart(right))
    case Not(Or(left, right)) => And(apart(Not(left)), apart(Not(right)))
    case Not(EqualTo(_: LeafExpression, _: LeafExpression)) => Unskippable(one)
    case other => other
  }

  /** INVARIANT: what a database might understand in another way than Spark, Spark says too. */
  private def again(one: Expression): Expression = one match {
    case Cell(value, allowed) => Cell(value, again(allowed))
    case And(left, right) => And(again(left), again(right))
    case _: LeafExpression => one
    case _ if alike(one, whole) => one
    case _ if wider(one) => And(one, Unskippable(one))
    case _ => Unskippable(one)
  }

  /** Whether a database leaves out nothing of which this holds: it takes more texts for equal than Spark does, never less. */
  private def wider(one: Expression): Boolean = one match {
    case And(left, right) => wider(left) && wider(right)
    case Or(left, right) => wider(left) && wider(right)
    case EqualTo(_: LeafExpression, _: LeafExpression) => true
    case other => alike(other, !_.isInstanceOf[StringType])
  }

  /** Whether a condition is nothing but comparisons of such values. */
  private def alike(one: Expression, kind: DataType => Boolean): Boolean = one match {
    case _: And | _: Or | _: Not | _: Coalesce => one.children.forall(alike(_, kind))
    case IsNull(_: LeafExpression) | IsNotNull(_: LeafExpression) => true
    case BinaryComparison(left: LeafExpression, right: LeafExpression) => kind(left.dataType) && kind(right.dataType)
    case leaf: LeafExpression => leaf.dataType == BooleanType
    case _ => false
  }

  private def whole(kind: DataType): Boolean = kind match {
    case _: IntegralType | _: DecimalType | BooleanType => true
    case _ => false
  }

  private def files(plan: LogicalPlan): Boolean = plan.collectLeaves().forall {
    case read: LogicalRelation => read.relation.isInstanceOf[HadoopFsRelation]
    case _ => false
  }

  /** Whether something other than Spark may answer conditions: a database, or a connector of which nothing is known. */
  private def answered(plan: LogicalPlan): Boolean = plan.collectLeaves().exists {
    case read: LogicalRelation => !read.relation.isInstanceOf[HadoopFsRelation]
    case read: DataSourceV2Relation => !read.table.isInstanceOf[FileTable]
    case _ => false
  }
}
