package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.JsonNode
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.analysis.{FunctionRegistry, TypeCoercion}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Expressions of a recipe, from JSON to Catalyst's own.
  *
  * Functions come from Spark's built-in registry, never from the session's, where a user may have put another one under
  * the same name.
  */
class Build(columns: Map[Long, Attribute]) {
  def apply(node: JsonNode): Expression = {
    if (node.has("column")) columns.getOrElse(node.get("column").asLong, Build.broken(s"no column ${node.get("column")}"))
    else if (node.has("type")) literal(node)
    else if (node.has("try_cast")) converted(plain(apply(node.get("of").get(0))), kind(node.get("try_cast").asText))
    else call(node.get("call").asText, node.get("of").elements().asScala.map(apply).toSeq)
  }

  private def literal(node: JsonNode): Literal = {
    val value = node.get("value")
    val wanted = kind(node.get("type").asText)
    if (value == null || value.isNull) Literal(null, wanted)
    else wanted match {
      case StringType => Literal(UTF8String.fromString(value.asText), StringType)
      case BooleanType => Literal(value.asBoolean, BooleanType)
      case IntegerType | DateType => Literal(value.asInt, wanted)
      case LongType | TimestampType => Literal(value.asLong, wanted)
      case DoubleType => Literal(value.asDouble, DoubleType)
      case NullType => Literal(null, NullType)
      case _ => Build.broken(s"a literal of type $wanted")
    }
  }

  private def kind(name: String): DataType = name match {
    case "null" => NullType
    // To Spark the word means what a session is set to.
    case "timestamp" => TimestampType
    case _ => Build.plainKinds.getOrElse(name, DataType.fromDDL(name))
  }

  private def call(name: String, given: Seq[Expression]): Expression = name match {
    case "masked" => Cells.guarded(given.head, given(1), fitted(given(2), given(1).dataType))
    case "fit" => fitted(given.head, given(1).dataType)
    case _ => computed(name, given.map(plain))
  }

  private def computed(name: String, parts: Seq[Expression]): Expression = name match {
    case "and" => parts.reduce(And)
    case "or" => parts.reduce(Or)
    case "not" => Not(parts.head)
    case "isnull" => IsNull(parts.head)
    case "in" => parts.tail.map(item => compare("=", parts.head, item)).reduce(Or)
    case "like" => Like(text(parts.head), parts(1), '\\')
    case "=" | "<>" | "<" | "<=" | ">" | ">=" => compare(name, parts.head, parts(1))
    case "if" => val Seq(yes, no) = alike(parts.tail); If(parts.head, yes, no)
    case "binary" => Cast(text(parts.head), BinaryType, Some("UTC"), EvalMode.TRY)
    case "coalesce" | "greatest" | "least" => builtin(name, alike(parts))
    // Spark's own computes what it names twice in a place of its own, in which the variable of a cell is not known.
    case "nullif" => val Seq(value, other) = alike(parts); If(EqualTo(value, other), Literal(null, value.dataType), value)
    case "try_add" | "try_subtract" | "try_multiply" | "try_divide" | "try_mod" => builtin(name, alike(parts))
    // INVARIANT: a policy never raises an error. Spark's own functions may, where a number does not fit.
    case "floor" | "ceil" if parts.head.dataType == DoubleType => If(wholly(parts.head), Silent(builtin(name, parts)), Literal(null, LongType))
    // INVARIANT: nor does it mean something else where a user switches errors off, and a number becomes another one.
    case "abs" => Silent(Abs(parts.head, failOnError = true))
    case "round" => Silent(Round(parts.head, parts.lift(1).getOrElse(Literal(0)), ansiEnabled = true))
    case "floor" | "ceil" => Silent(builtin(name, parts))
    case _ => builtin(name, parts)
  }

  private def builtin(name: String, parts: Seq[Expression]): Expression =
    FunctionRegistry.builtin.lookupFunction(FunctionIdentifier(name), parts)

  /** Whether a number has a whole one beside it: for those that are too large, early versions of Spark took another. */
  private def wholly(number: Expression): Expression =
    And(compare(">=", number, Literal(Long.MinValue.toDouble)), compare("<", number, Literal(-Long.MinValue.toDouble)))

  /** A value as another type, NULL where it is none. Spark finds numbers in more texts: `7d`, `Infinity`, after a tab. */
  private def converted(one: Expression, wanted: DataType): Expression = {
    val there = Cast(one, wanted, Some("UTC"), EvalMode.TRY)
    (one.dataType, wanted) match {
      case (StringType, DoubleType) => If(And(RLike(one, Literal(Build.NUMBER)), LessThanOrEqual(Abs(there, failOnError = false), Literal(Double.MaxValue))), there, Literal(null, wanted))
      case (StringType, _: NumericType) => If(RLike(one, Literal(Build.WHOLE)), there, Literal(null, wanted))
      case _ => there
    }
  }

  /** Texts are compared as they are, whatever the column takes for equal. */
  private def plain(one: Expression): Expression = one.dataType match {
    case _: StringType => text(one)
    case _ => one
  }

  private def text(one: Expression): Expression = if (one.dataType == StringType) one else Cast(one, StringType, Some("UTC"), EvalMode.TRY)

  /** The expressions in the one type that holds them all. */
  private def alike(parts: Seq[Expression]): Seq[Expression] = {
    val wanted = parts.map(_.dataType).reduce((left, right) => wider(left, right))
    parts.map(one => if (one.dataType == wanted) one else Cast(one, wanted, Some("UTC"), EvalMode.TRY))
  }

  private def wider(left: DataType, right: DataType): DataType =
    if (left == right) left
    else TypeCoercion.findWiderTypeForTwo(left, right).getOrElse(Build.broken(s"$left and $right do not go together"))

  private def fitted(one: Expression, wanted: DataType): Expression =
    if (one.dataType == wanted) one else if (one.dataType == NullType) Literal(null, wanted)
    else Cast(one, wanted, Some("UTC"), EvalMode.TRY)

  private def compare(sign: String, left: Expression, right: Expression): Expression = {
    val Seq(a, b) = (left, right) match {
      // A literal that the column's own type holds is parts that type: such a predicate reaches the files.
      case (column: Attribute, value: Literal) if exact(value, column.dataType).isDefined => Seq(column, exact(value, column.dataType).get)
      case (value: Literal, column: Attribute) if exact(value, column.dataType).isDefined => Seq(exact(value, column.dataType).get, column)
      case _ => alike(Seq(left, right))
    }
    sign match {
      case "=" => EqualTo(a, b)
      case "<>" => Not(EqualTo(a, b))
      case "<" => LessThan(a, b)
      case "<=" => LessThanOrEqual(a, b)
      case ">" => GreaterThan(a, b)
      case ">=" => GreaterThanOrEqual(a, b)
    }
  }

  private def exact(value: Literal, wanted: DataType): Option[Literal] =
    if (value.dataType == wanted || value.value == null) Some(Literal(value.value, wanted))
    else if (!value.dataType.isInstanceOf[NumericType] || !wanted.isInstanceOf[NumericType]) None
    else {
      val there = Cast(value, wanted, Some("UTC"), EvalMode.TRY).eval()
      if (there == null) None
      else if (Cast(Literal(there, wanted), value.dataType, Some("UTC"), EvalMode.TRY).eval() == value.value) Some(Literal(there, wanted))
      else None
    }
}

object Build {
  /** Types that nearly all policies speak of, so that Spark's parser is not asked for them with every plan. */
  private val plainKinds = Seq(BooleanType, IntegerType, LongType, DoubleType, StringType, DateType).map(kind => kind.sql.toLowerCase -> kind).toMap[String, DataType]

  /** Texts that are numbers, as the reference knows them. */
  private val WHOLE = "\\A *[+-]?[0-9]+ *\\z"
  private val NUMBER = "\\A *[+-]?([0-9]+(\\.[0-9]*)?|\\.[0-9]+)([eE][+-]?[0-9]+)? *\\z"

  def broken(what: String): Nothing = throw new IllegalStateException(s"the recipe cannot be applied: $what")
}
