package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.PushDownPredicates
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.dynamicpruning.{CleanupDynamicPruningFilters, PartitionPruning}

/** Lets a join choose which partitions are read behind a fence.
  *
  * Spark does that itself, and then takes out again what did not come down to a scan; nothing that Spark moves comes
  * through a fence. So it is done once more, after Spark, and taken through here.
  *
  * It is safe because it is not an expression of the user's that goes through: it is whether a partition's value is among
  * the keys on the other side of the join, which stands behind guards of its own and is computed for the join anyway. It
  * cannot fail, and the rows that are not read would not have found a partner.
  */
object PrunePartitions extends Rule[LogicalPlan] with PredicateHelper {
  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!plan.exists(divided)) plan
    else once(CleanupDynamicPruningFilters(down(PartitionPruning(plan))))

  /** Whether there is a fence with files in partitions behind it. */
  private def divided(plan: LogicalPlan): Boolean = plan match {
    case GuardBarrier(child) => child.exists {
      case relation: LogicalRelation => relation.relation match {
        case files: HadoopFsRelation => files.partitionSchema.nonEmpty
        case _ => false
      }
      case other => other.isInstanceOf[LeafNode]
    }
    case _ => false
  }

  /** Down to the fence, through it, and down to the scan. */
  private def down(plan: LogicalPlan): LogicalPlan = {
    val through = PushDownPredicates(plan).transformUp {
      case Filter(condition, GuardBarrier(child)) if splitConjunctivePredicates(condition).exists(prunes) =>
        val (pruning, others) = splitConjunctivePredicates(condition).partition(prunes)
        val below = GuardBarrier(Filter(pruning.reduce(And), child))
        others.reduceOption(And).map(Filter(_, below)).getOrElse(below)
    }
    if (through.fastEquals(plan)) plan else PushDownPredicates(through)
  }

  /** INVARIANT: a column is compared, nothing is computed from it. */
  private def prunes(predicate: Expression): Boolean = predicate match {
    case pruning: DynamicPruningSubquery => pruning.pruningKey.isInstanceOf[Attribute]
    case _ => false
  }

  /** Where Spark had found the same, it stands there twice now; and what guards made of a column is not a partition's. */
  private def once(plan: LogicalPlan): LogicalPlan = plan.transformUp {
    case filter @ Filter(condition, child) if condition.exists(_.isInstanceOf[DynamicPruningSubquery]) =>
      val conjuncts = splitConjunctivePredicates(condition)
      val kept = conjuncts.distinctBy(_.canonicalized).filter(one => prunes(one) || !one.isInstanceOf[DynamicPruningSubquery])
      if (kept.size == conjuncts.size) filter else kept.reduceOption(And).map(Filter(_, child)).getOrElse(child)
  }
}
