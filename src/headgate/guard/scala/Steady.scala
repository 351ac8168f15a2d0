package org.apache.spark.sql.headgate

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.{ExternalRDD, LogicalRDD}
import org.apache.spark.sql.execution.datasources.LogicalRelation
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Relation, DataSourceV2ScanRelation}
import org.apache.spark.sql.types._

/** Whether the same words are about the same rows whenever they are asked, and under which settings.
  *
  * INVARIANT: what is not known to be steady moves, and what is not known to be the same under all settings is not.
  */
object Steady {
  /** Whether an operator is about the same rows at any time, while its tables and the session's settings stay as they are,
    * and what is behind it does.
    */
  def is(plan: LogicalPlan): Boolean = kind(plan) && plan.expressions.forall(is)

  /** Whether an expression says the same of the same row at any time; plans of subqueries are not entered. */
  def is(one: Expression): Boolean = one.deterministic && !one.exists {
    case _: UserDefinedExpression => true
    case one: AggregateFunction => !inAnyOrder(one)
    case cast: Cast => mayBeNow(cast)
    // Spark calls these deterministic. What they draw, or where an object lies in memory, is another each time.
    case _: AesEncrypt => true
    case text: FormatString => !text.children.forall(one => printed(one.dataType))
    case shorthand: RuntimeReplaceable => !is(shorthand.replacement)
    case other => moving.exists(Names.of(other).startsWith)
  }

  /** Whether Java prints a value, and not where in memory it is: bytes, and maps as numbers, it does not. */
  private def printed(kind: DataType): Boolean = kind == FloatType || kind == DoubleType || kind == NullType || exact(kind)

  /** Whether Spark may put in the time for a text that is made a time: `now`, `today`, `yesterday UTC`. */
  private def mayBeNow(cast: Cast): Boolean = (cast.child, cast.dataType) match {
    case (text, DateType | TimestampType | TimestampNTZType) if text.foldable && text.dataType.isInstanceOf[StringType] => text match {
      case Literal(value, _) if value != null => value.toString.find(one => one > ' ' && !one.isWhitespace).exists(_.isLetter)
      case other => !other.isInstanceOf[Literal]
    }
    case _ => false
  }

  /** Whether an aggregate function gives the same in whatever order rows come.
    *
    * They come from other executors as these are done, in another order each time. `max_by` takes the last of those that
    * are equal, and doubles are rounded on the way; Spark adds up doubles for the mean of integers as well.
    */
  private def inAnyOrder(function: AggregateFunction): Boolean = function match {
    case named: RuntimeReplaceableAggregate => named.replacement match { case one: AggregateFunction => inAnyOrder(one); case _ => false }
    case _: Count | _: HyperLogLogPlusPlus | _: BitAndAgg | _: BitOrAgg | _: BitXorAgg => true
    case least: Min => exact(least.child.dataType)
    case largest: Max => exact(largest.child.dataType)
    case sum: Sum => summed(sum, sum.child.dataType)
    // No table has as many of these as it would take to round their sum.
    case mean: Average => mean.child.dataType == ByteType || mean.child.dataType == ShortType || (mean.child.dataType.isInstanceOf[DecimalType] && summed(mean, mean.child.dataType))
    case _ => false
  }

  /** Whether a sum is the same in any order, or an error. One that is tried is NULL where there is no room on the way. */
  private def summed(sum: AggregateFunction, of: DataType): Boolean = {
    // In what the mode stands is not the same in all versions of Spark.
    val modes = sum.productIterator.drop(1).flatMap { case context: scala.Product => context.productIterator; case mode => Iterator(mode) }.toSet
    of match {
      case ByteType | ShortType | IntegerType | LongType => modes(EvalMode.ANSI) || modes(EvalMode.LEGACY)
      case _: DecimalType => modes(EvalMode.ANSI)
      case _ => false
    }
  }

  /** Whether equal values are one value. Texts that are equal by a collation are not, nor are zeros with a sign. */
  def exact(kind: DataType): Boolean = kind match {
    case BooleanType | ByteType | ShortType | IntegerType | LongType | DateType | TimestampType | TimestampNTZType => true
    case _: DecimalType => true
    case text => text == StringType
  }

  /** Whether it makes no difference which of equal values stands for a group: Spark makes one of zeros before. */
  private def grouped(kind: DataType): Boolean = kind match {
    case FloatType | DoubleType | BinaryType | NullType | _: AnsiIntervalType => true
    case row: StructType => row.forall(field => grouped(field.dataType))
    case list: ArrayType => grouped(list.elementType)
    case other => exact(other)
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
    case groups: Aggregate => groups.groupingExpressions.forall(key => grouped(key.dataType))
    case _: SetOperation | _: Distinct => plan.output.forall(column => grouped(column.dataType))
    case _: Project | _: Filter | _: Join | _: LateralJoin | _: Union | _: Expand | _: Generate => true
    case _: SubqueryAlias | _: View | _: ResolvedHint | _: Sort | _: RepartitionOperation | _: WithCTE | _: CTERelationDef | _: CTERelationRef => true
    case _: LocalRelation | _: OneRowRelation | _: Range | _: LogicalRDD => true
    case _: LogicalRelation | _: HiveTableRelation | _: DataSourceV2Relation | _: DataSourceV2ScanRelation => true
    case _ => false
  }

  private val moving = Seq("Current", "Now", "LocalTimestamp")

  /** Whether an expression means the same under all settings that a user may change. */
  def settled(one: Expression): Boolean = (one match {
    case _: Attribute | _: Literal | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull | _: BinaryComparison | _: In | _: InSet => true
    case _: If | _: CaseWhen | _: Coalesce | _: Silent | _: StartsWith | _: EndsWith | _: Contains | _: Alias => true
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
