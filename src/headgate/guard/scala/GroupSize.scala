package org.apache.spark.sql.headgate

import java.security.SecureRandom

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types.{DecimalType, LongType}

/** Whether enough tuples are behind a group: `need` is what the policies ask for, in each of them that counts.
  *
  * Where something on the way may repeat tuples, `row` says which tuple it is. Then different ones are counted, and each
  * must be there equally often: a sum in which one tuple is there a thousand times tells of that one. They are if all
  * their numbers together are as many times the sum of the different ones as there are tuples to different ones. The
  * numbers are hashed with a seed that nobody knows, so that no choice of repetitions makes this true by chance.
  */
class GroupSize(need: Attribute, row: Option[Attribute]) {
  private val least = column("need", Max(need))
  private val number = row.map(one => If(IsNotNull(need), Cast(XxHash64(Seq(one), GroupSize.seeds.nextLong()), GroupSize.NUMBER), Literal(null, GroupSize.NUMBER)))
  private val size = column("size", Count(number.getOrElse(need)), distinct = number.isDefined)
  private val all = number.map(one => column("all", Count(one)))
  private val sum = number.map(one => column("sum", Sum(one)))
  private val distinct = number.map(one => column("distinct", Sum(one), distinct = true))

  /** What the group's aggregate computes beside what was asked. */
  def columns: Seq[Alias] = Seq(least, size) ++ all ++ sum ++ distinct

  /** The condition over these columns. */
  def enough: Expression = {
    val large = GreaterThanOrEqual(size.toAttribute, Cast(least.toAttribute, LongType))
    val equally = for (a <- all; s <- sum; d <- distinct) yield {
      val times = Cast(IntegralDivide(a.toAttribute, size.toAttribute), GroupSize.TIMES)
      And(EqualTo(Remainder(a.toAttribute, size.toAttribute), Literal(0L)), EqualTo(Cast(s.toAttribute, GroupSize.WIDE), Cast(Multiply(times, d.toAttribute), GroupSize.WIDE)))
    }
    // Dividing by no tuples at all: a group of them needs none, or is not large.
    Or(IsNull(least.toAttribute), If(large, equally.getOrElse(Literal.TrueLiteral), Literal.FalseLiteral))
  }

  private def column(name: String, function: AggregateFunction, distinct: Boolean = false): Alias =
    Alias(function.toAggregateExpression(isDistinct = distinct), name)()
}

object GroupSize {
  private val seeds = new SecureRandom()
  /** Room for any number of 64 bits, and for how often a tuple may be repeated. */
  private val NUMBER = DecimalType(20, 0)
  private val TIMES = DecimalType(8, 0)
  private val WIDE = DecimalType(38, 0)
}
