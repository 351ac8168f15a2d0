package org.apache.spark.sql.headgate

import java.security.SecureRandom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Window}
import org.apache.spark.sql.types.{DecimalType, LongType}

/** Whether enough tuples are behind a group: `need` is what the policies ask for, in each of them that counts.
  *
  * Where something on the way may repeat tuples, `row` says which tuple it is. Then different ones are counted, and each
  * must be there equally often: a sum in which one tuple is there a thousand times tells of that one. They are if all
  * their numbers together are as many times the sum of the different ones as there are tuples to different ones. The
  * numbers are hashed with a seed that nobody knows, so that no choice of repetitions makes this true by chance.
  *
  * And none of them may be in another group too: a group less another that lacks one of its tuples tells of that one.
  * `keys` are those of the groups.
  */
class GroupSize(need: Attribute, row: Option[Attribute], keys: Seq[Expression]) {
  /** The group that a row belongs to, and the lowest and the highest of those that the row's tuple is in. */
  private val group = row.filter(_ => keys.nonEmpty).map(_ => Alias(CreateStruct(keys), "group")())
  // INVARIANT: groups are told apart as Spark does it. A hash takes two for one that differ by where they have NULL.
  if (group.isDefined && !keys.forall(key => RowOrdering.isOrderable(key.dataType))) Build.broken("keys without an order")

  private val lowest = group.map(one => over("from", Min(one.toAttribute)))
  private val highest = group.map(one => over("to", Max(one.toAttribute)))
  private val elsewhere = for (from <- lowest; to <- highest) yield
    column("elsewhere", Max(If(And(IsNotNull(need), Not(EqualTo(from.toAttribute, to.toAttribute))), Literal(1), Literal(0))))

  private val least = column("need", Max(need))
  private val number = row.map(one => If(IsNotNull(need), Cast(XxHash64(Seq(one), GroupSize.seeds.nextLong()), GroupSize.NUMBER), Literal(null, GroupSize.NUMBER)))
  private val size = column("size", Count(number.getOrElse(need)), distinct = number.isDefined)
  private val all = number.map(one => column("all", Count(one)))
  private val sum = number.map(one => column("sum", Sum(one)))
  private val distinct = number.map(one => column("distinct", Sum(one), distinct = true))

  /** What the group's aggregate computes beside what was asked. */
  def columns: Seq[Alias] = Seq(least, size) ++ all ++ sum ++ distinct ++ elsewhere

  /** The rows of the groups with what is computed of them, if anything is. */
  def below(rows: LogicalPlan): LogicalPlan =
    (for (one <- group; from <- lowest; to <- highest) yield Window(Seq(from, to), row.toSeq, Nil, Project(rows.output :+ one, rows))).getOrElse(rows)

  /** The condition over these columns. */
  def enough: Expression = {
    val large = GreaterThanOrEqual(size.toAttribute, Cast(least.toAttribute, LongType))
    val equally = for (a <- all; s <- sum; d <- distinct) yield {
      val times = Cast(IntegralDivide(a.toAttribute, size.toAttribute), GroupSize.TIMES)
      And(EqualTo(Remainder(a.toAttribute, size.toAttribute), Literal(0L)), EqualTo(Cast(s.toAttribute, GroupSize.WIDE), Cast(Multiply(times, d.toAttribute), GroupSize.WIDE)))
    }
    // Dividing by no tuples at all: a group of them needs none, or is not large.
    val even = Or(IsNull(least.toAttribute), If(large, equally.getOrElse(Literal.TrueLiteral), Literal.FalseLiteral))
    elsewhere.map(one => And(even, EqualTo(one.toAttribute, Literal(0)))).getOrElse(even)
  }

  private def over(name: String, function: AggregateFunction): Alias = {
    val whole = WindowSpecDefinition(row.toSeq, Nil, SpecifiedWindowFrame(RowFrame, UnboundedPreceding, UnboundedFollowing))
    Alias(WindowExpression(function.toAggregateExpression(), whole), name)()
  }

  private def column(name: String, function: AggregateFunction, distinct: Boolean = false): Alias =
    Alias(function.toAggregateExpression(isDistinct = distinct), name)()
}

object GroupSize {
  /** What is computed of groups, such that a sum for which there is no room is NULL, and so is a mean of it.
    *
    * INVARIANT: an aggregate raises no error, as it goes through all groups before those that are too small are left out.
    */
  def tried(column: NamedExpression): NamedExpression = column.transform {
    case sum: Sum => alike(sum, TrySumExpressionBuilder.build("try_sum", Seq(sum.child)))
    case mean: Average => alike(mean, TryAverageExpressionBuilder.build("try_avg", Seq(mean.child)))
  }.asInstanceOf[NamedExpression]

  private def alike(one: Expression, now: Expression): Expression =
    if (now.dataType == one.dataType) now else Build.broken(s"${one.prettyName} is of another type if it is tried")

  private val seeds = new SecureRandom()
  /** Room for any number of 64 bits, and for how often a tuple may be repeated. */
  private val NUMBER = DecimalType(20, 0)
  private val TIMES = DecimalType(8, 0)
  private val WIDE = DecimalType(38, 0)
}
