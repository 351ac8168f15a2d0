package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory}

import org.apache.spark.sql.catalyst.analysis.UnresolvedFunction
import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.types.StringType

/** Types that users write. INVARIANT: Spark makes an object of whatever class they name while it reads them, and evaluates
  * what is said to stand for values that are missing.
  */
object Types {
  /** Why types that are written in texts, the classes they name, or what stands `beside` columns must not be read, if they
    * must not.
    */
  private[sql] def refusal(session: SparkSession, texts: Seq[String], classes: Seq[String] = Nil, beside: Seq[String] = Nil): Option[String] =
    if (classes.isEmpty && beside.isEmpty && !texts.exists(_.trim.startsWith("{"))) None
    else if ((texts ++ classes ++ beside).map(_.length.toLong).sum > LONGEST) Some("the schemas that are written there are longer than 1 MB; write them as `a INT, b STRING`")
    else {
      val json = JsonNodeFactory.instance.objectNode().put("kind", "types")
      json.set[ArrayNode]("texts", Reading.texts(texts))
      json.set[ArrayNode]("classes", Reading.texts(classes))
      json.set[ArrayNode]("beside", Reading.texts(beside))
      Hook.beforehand(session, json.toString)
    }

  /** How many characters of types are looked at: Python makes objects of them, and holds up all other decisions meanwhile. */
  private val LONGEST = 1 << 20

  /** Looks at the type that a function is given: a text that stands there, and not one that is computed. */
  def check(session: SparkSession, function: UnresolvedFunction): Unit = {
    val name = function.nameParts.last.toLowerCase
    TAKING.get(name).flatMap(function.arguments.lift).foreach {
      case text: Literal if text.dataType.isInstanceOf[StringType] && text.value != null =>
        refusal(session, Seq(text.value.toString)).foreach(why => throw Hook.refused(why))
      case found if found.isInstanceOf[Literal] || inferred(found) =>
      case _ => throw Hook.refused(s"the schema of `$name` may not be computed; write it, or use `schema_of_json`")
    }
  }

  private def inferred(one: Expression): Boolean = one match {
    case function: UnresolvedFunction => INFERRING(function.nameParts.last.toLowerCase)
    case _ => false
  }

  /** Functions that take a type as a text, and at which place. */
  private val TAKING = Map("from_json" -> 1, "from_csv" -> 1, "from_xml" -> 1, "variant_get" -> 2, "try_variant_get" -> 2)

  /** Functions that find a type in an example. */
  private val INFERRING = Set("schema_of_json", "schema_of_csv", "schema_of_xml")
}
