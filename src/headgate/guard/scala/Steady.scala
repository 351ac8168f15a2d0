package org.apache.spark.sql.headgate

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}

/** Whether the same words are about the same rows whenever they are asked, and under which settings.
  *
  * INVARIANT: what is not known to be steady moves, and what is not known to be the same under all settings is not.
  */
object Steady {
  /** Whether a plan is about the same rows at any time, while its tables and the session's settings stay as they are. */
  def is(plan: LogicalPlan): Boolean = kind(plan) && plan.expressions.forall(is) && within(plan).forall(is)

  /** Whether an expression says the same of the same row at any time; plans of subqueries are not entered. */
  def is(one: Expression): Boolean = one.deterministic && !one.exists {
    case _: UserDefinedExpression => true
    case other => moving.exists(Names.of(other).startsWith)
  }

  /** Whether a leaf holds rows that a program of the user's makes whenever they are asked for: other ones each time. */
  def recomputed(plan: LogicalPlan): Boolean = plan match {
    case rows: LogicalRDD => recomputed(rows.rdd)
    case _: ExternalRDD[_] => true
    case _ => false
  }

  private def recomputed(rows: RDD[_]): Boolean =
    !rows.isCheckpointed && (rows.getClass.getName.startsWith("org.apache.spark.api.python.") || rows.dependencies.exists(one => recomputed(one.rdd)))

  /** Operators that do not choose among rows by an order that Spark makes, and leaves that do not grow as streams go on. */
  private def kind(plan: LogicalPlan): Boolean = plan match {
    case _: Project | _: Filter | _: Aggregate | _: Join | _: LateralJoin | _: Union | _: SetOperation | _: Distinct | _: Expand | _: Generate => true
    case _: SubqueryAlias | _: View | _: ResolvedHint | _: Sort | _: RepartitionOperation | _: WithCTE | _: CTERelationDef | _: CTERelationRef => true
    case _: LocalRelation | _: OneRowRelation | _: Range | _: LogicalRDD => true
    case _: LogicalRelation | _: HiveTableRelation | _: DataSourceV2Relation | _: DataSourceV2ScanRelation => true
    case _ => false
  }

  private def within(plan: LogicalPlan): Seq[LogicalPlan] =
    plan.children ++ plan.expressions.flatMap(_.collect { case one: SubqueryExpression => one.plan })

  private val moving = Seq("Current", "Now", "LocalTimestamp")

  /** Whether an expression means the same under all settings that a user may change. */
  def settled(one: Expression): Boolean = (one match {
    case _: Attribute | _: Literal | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: BinaryComparison | _: In | _: InSet => true
    case _: If | _: CaseWhen | _: Coalesce | _: StartsWith | _: EndsWith | _: Contains | _: Alias => true
    // These hold what becomes of errors from when they were made.
    case _: Add | _: Subtract | _: Multiply | _: Divide | _: Remainder | _: UnaryMinus => true
    case cast: Cast => !cast.needsTimeZone && Cast.canUpCast(cast.child.dataType, cast.dataType)
    case _ => false
  }) && one.children.forall(settled)

  /** What a session is set to, without what is only about how answers look; and without what is about speed, if no order
    * of rows can make a difference.
    */
  def settings(session: SparkSession, ordered: Boolean): Map[String, String] = {
    val without = if (ordered) looks else looks ++ speed
    session.sessionState.conf.getAllConfs.filterNot { case (key, _) => without.exists(key.startsWith) }
  }

  private val looks = Seq("spark.headgate.", "spark.app.", "spark.sql.repl.", "spark.sql.execution.arrow.", "spark.sql.execution.pythonUDF.")
  private val speed = Seq("spark.sql.shuffle.partitions", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.adaptive.", "spark.sql.cbo.", "spark.sql.streaming.")
}
