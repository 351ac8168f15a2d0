package org.apache.spark.sql.headgate

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Expression, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical._

/** A plan as its user wrote it: operators, and expressions over columns.
  *
  * Of what is read only the columns are shown, and nothing of what lasting views are made of: files, counts and the
  * conditions of others stand there. Operators do not print themselves, because some print what they hold.
  */
object Shown {
  private val LONGEST = 500

  def text(plan: LogicalPlan): String = lines(plan, 0).mkString("\n")

  private def lines(plan: LogicalPlan, depth: Int): Seq[String] = {
    val indent = if (depth == 0) "" else "   " * (depth - 1) + "+- "
    (indent + line(plan)) +: below(plan).flatMap(lines(_, depth + 1))
  }

  private def below(plan: LogicalPlan): Seq[LogicalPlan] = plan match {
    case view: View if !view.isTempView => Nil
    case other => other.expressions.flatMap(_.collect { case one: SubqueryExpression => one.plan }) ++ other.children
  }

  private def line(plan: LogicalPlan): String = plan match {
    case alias: SubqueryAlias => s"SubqueryAlias ${alias.alias}"
    case view: View => s"View ${view.desc.identifier.unquotedString} ${columns(view)}"
    case join: Join => s"Join ${join.joinType.sql}${join.condition.map(one => " ON " + written(one)).getOrElse("")}"
    case leaf: LeafNode => s"${Names.of(leaf)} ${columns(leaf)}"
    case other if other.expressions.isEmpty => Names.of(other)
    case other => s"${Names.of(other)} ${other.expressions.map(written).mkString("[", ", ", "]")}"
  }

  private def columns(plan: LogicalPlan): String = plan.output.map(_.name).mkString("[", ", ", "]")

  private def written(one: Expression): String = {
    val text = Try(one.sql).getOrElse(one.prettyName)
    if (text.length > LONGEST) text.take(LONGEST) + "..." else text
  }
}
