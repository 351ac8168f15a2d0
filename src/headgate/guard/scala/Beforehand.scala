package org.apache.spark.sql.headgate

import org.apache.spark.sql.{SparkSession => AnySession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.classic.SparkSession

/** What is refused before Spark finds out what the names in a plan stand for: asking for its columns is enough for that.
  *
  * A rule about hints, because these are resolved before everything else.
  */
class Beforehand(session: AnySession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    Beforehand.check(session.asInstanceOf[SparkSession])
    plan
  }
}

object Beforehand {
  /** Whether the parser puts values of the environment, of Java and of settings into the text of a query. */
  val SUBSTITUTE = "spark.sql.variable.substitute"

  private def check(session: SparkSession): Unit =
    if (session.sessionState.conf.variableSubstituteEnabled) throw Hook.refused(s"the setting `$SUBSTITUTE` may not be changed; set it to false")
}
