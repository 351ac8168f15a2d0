package org.apache.spark.sql.headgate

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.{CTERelationDef, CTERelationRef, LogicalPlan}

/** What the operators of a plan are made of, all of it: what is below them, in subqueries, and in the common table
  * expressions that are named there, which stand elsewhere in the plan.
  */
class Behind(nodes: Vector[LogicalPlan]) {
  /** INVARIANT: a number may have several definitions, of which Spark runs one for all. */
  private val defined: Map[Long, Vector[LogicalPlan]] =
    nodes.collect { case one: CTERelationDef => one.id -> (one: LogicalPlan) }.groupMap(_._1)(_._2)

  /** An operator and all that it is made of. */
  def apply(node: LogicalPlan): Vector[LogicalPlan] = reached(Behind.numbered(node))

  /** All that an operator is made of. */
  def below(node: LogicalPlan): Vector[LogicalPlan] = reached(Behind.numbered(node).tail)

  /** The definitions that an operator is made of, in a form that is the same for the same ones.
    *
    * Spark numbers them anew in each plan, so that their numbers say nothing.
    */
  def definitions(node: LogicalPlan): Map[Long, Set[LogicalPlan]] =
    numbers(apply(node)).map(one => one -> defined.getOrElse(one, Vector.empty).map(_.canonicalized).toSet).toMap

  private def numbers(plans: Seq[LogicalPlan]): Set[Long] = plans.collect { case one: CTERelationRef => one.cteId }.toSet

  private def reached(first: Vector[LogicalPlan]): Vector[LogicalPlan] = {
    val (seen, found) = (mutable.Set.empty[Long], Vector.newBuilder[LogicalPlan])
    var next = first
    while (next.nonEmpty) {
      found ++= next
      next = (numbers(next) -- seen).toVector.flatMap { number =>
        seen += number
        defined.getOrElse(number, Vector.empty).flatMap(Behind.numbered)
      }
    }
    found.result()
  }
}

object Behind {
  /** The nodes of a plan by their numbers in its description. */
  def numbered(plan: LogicalPlan): Vector[LogicalPlan] = {
    val inside = plan.expressions.flatMap(_.collect { case one: SubqueryExpression => one.plan })
    plan +: (inside.toVector ++ plan.children).flatMap(numbered)
  }
}
