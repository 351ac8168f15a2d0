package org.apache.spark.sql.headgate

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.plans.logical.Aggregate

/** An aggregate in two steps: the keys and functions of the groups, and what a query makes of them.
  *
  * INVARIANT: what is made of them may fail, and is for groups that are large enough alone. Spark computes all that stands
  * in an aggregate before it looks which groups are wanted.
  */
class BareGroups(aggregate: Aggregate) {
  private val made = mutable.ArrayBuffer.empty[Alias]
  private val keys = aggregate.groupingExpressions.map {
    case named: NamedExpression => named
    case key => Alias(key, "key")()
  }

  /** What the query asks for, over the columns of the groups. */
  val asked: Seq[NamedExpression] = aggregate.aggregateExpressions.map {
    case alias @ Alias(_: AggregateExpression, _) => made += alias; alias.toAttribute
    case other => over(other).asInstanceOf[NamedExpression]
  }

  /** Keys and functions. */
  def columns: Seq[NamedExpression] = keys ++ made

  private def over(one: Expression): Expression = one match {
    case attribute: Attribute => attribute
    case function: AggregateExpression => column(function)
    case other => aggregate.groupingExpressions.indexWhere(_.semanticEquals(other)) match {
      case -1 => other.mapChildren(over)
      case place => keys(place).toAttribute
    }
  }

  private def column(function: AggregateExpression): Attribute =
    made.find(_.child.semanticEquals(function)).getOrElse { made += Alias(function, "made")(); made.last }.toAttribute
}
