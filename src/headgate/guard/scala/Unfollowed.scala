package org.apache.spark.sql.headgate

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{Command, CommandResult, LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, UnaryExecNode}

/** Whether what a plan was decided by still stands; each is equal to itself only. */
class Standing(val holds: () => Boolean)

/** The root of a frame that is planned once and would run by its first decision for ever.
  *
  * In process Spark makes frames of SQL in a way that cannot be followed, where they are not asked for through the session
  * that was given out; through Connect it makes rows of texts that are parsed, which a view keeps. Such a frame runs while its decision stands, and is refused after that, as rows of a program are.
  */
case class Unfollowed(child: LogicalPlan, standing: Standing) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  // INVARIANT: never the same as what is kept in memory, which would be given out without this node.
  override protected def doCanonicalize(): LogicalPlan = Unfollowed(child.canonicalized, new Standing(() => false))
  override protected def withNewChildInternal(newChild: LogicalPlan): Unfollowed = copy(child = newChild)
}

object Unfollowed {
  /** The guarded plan of what was asked, such that it runs only while the decision on it stands. */
  def apply(session: SparkSession, asked: LogicalPlan, decision: Decision, guarded: LogicalPlan): LogicalPlan = 
    if (stays(asked)) Unfollowed(guarded, new Standing(() => Hook.alike(session, asked, decision))) else guarded

  /** Whether a plan may run again. Spark runs commands when it makes their frames, once. */
  def stays(asked: LogicalPlan): Boolean = !asked.isInstanceOf[Command] && !asked.isInstanceOf[CommandResult]
}

case class UnfollowedExec(child: SparkPlan, standing: Standing) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  override protected def doExecute(): RDD[InternalRow] = {
    if (!standing.holds()) throw FollowedRows.refused
    new FollowedRows(child.execute(), standing.holds)
  }
  override protected def withNewChildInternal(newChild: SparkPlan): UnfollowedExec = copy(child = newChild)
}

object PlanUnfollowed extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Unfollowed(child, standing) => Seq(UnfollowedExec(planLater(child), standing))
    case _ => Nil
  }
}
