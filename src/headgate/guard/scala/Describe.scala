package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory, ObjectNode}
import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.AggregateExpression
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils
import org.apache.spark.sql.execution.LogicalRDD
import org.apache.spark.sql.types.Metadata

/** A plan as JSON: operators, expressions, attribute ids, sources, subqueries. It says what is there, and judges nothing.
  *
  * Nodes are numbered in the order in which `Apply` visits them: a node, the subqueries of its expressions, its
  * children. Columns and common table expressions are numbered as they come, so that a query that is asked again is
  * described in the same words.
  */
class Describe(numbers: Numbers) {
  private val json = JsonNodeFactory.instance
  private val attributes: ObjectNode = json.objectNode()
  private val definitions = mutable.Map.empty[Long, Int]
  private var count = 0

  def apply(plan: LogicalPlan): ObjectNode = {
    val result = json.objectNode()
    result.set[ObjectNode]("plan", node(plan))
    result.set[ObjectNode]("attributes", attributes)
    result
  }

  private def node(plan: LogicalPlan): ObjectNode = {
    val result = json.objectNode()
    result.put("id", count)
    count += 1
    result.put("node", Names.of(plan))
    numbers.meet(plan)
    result.set[ArrayNode]("out", array(plan.output.map(note)))
    if (plan.isStreaming) result.put("streaming", true)
    details(plan, result)
    divided(plan).filter(_ > MANY).foreach(result.put("divided", _))
    val children = json.arrayNode()
    plan.children.foreach(child => children.add(node(child)))
    if (!children.isEmpty) result.set[ArrayNode]("children", children)
    result
  }

  /** Into how many partitions a query itself says that rows are divided. Within reason that is left out, as constants are. */
  private def divided(plan: LogicalPlan): Option[Int] = plan match {
    case range: Range => range.numSlices
    case one: Repartition => Some(one.numPartitions)
    case one: RepartitionByExpression => one.optNumPartitions
    case one: RebalancePartitions => one.optNumPartitions
    case _ => None
  }

  /** As `MOST_PARTITIONS` of `vocabulary.py` has it. */
  private val MANY = 100000

  private def details(plan: LogicalPlan, result: ObjectNode): Unit = plan match {
    case p: Project => result.set[ArrayNode]("list", expressions(p.projectList))
    case s: SerializeFromObject => result.set[ArrayNode]("list", expressions(s.serializer))
    case f: Filter => result.set[ArrayNode]("where", expressions(Conjuncts.of(f.condition)))
    case a: Aggregate =>
      result.set[ArrayNode]("keys", expressions(a.groupingExpressions))
      result.set[ArrayNode]("list", expressions(a.aggregateExpressions))
    case j: Join =>
      result.put("type", j.joinType.sql)
      result.set[ArrayNode]("where", expressions(j.condition.toSeq.flatMap(Conjuncts.of)))
    case w: Window =>
      result.set[ArrayNode]("list", expressions(w.windowExpressions))
      result.set[ArrayNode]("keys", expressions(w.partitionSpec ++ w.orderSpec))
    case g: Generate =>
      result.set[ArrayNode]("generator", expressions(Seq(g.generator)))
      result.set[ArrayNode]("made", array(g.generatorOutput.map(note)))
    case e: Expand =>
      val lists = json.arrayNode()
      e.projections.foreach(list => lists.add(expressions(list)))
      result.set[ArrayNode]("lists", lists)
    case c: CTERelationDef => result.put("cte", definition(c.id))
    case r: CTERelationRef => result.put("cte", definition(r.cteId))
    case l: UnionLoop => result.put("cte", definition(l.id))
    case r: UnionLoopRef => result.put("cte", definition(r.loopId))
    case v: View =>
      result.put("name", v.desc.identifier.unquotedString)
      result.put("temporary", v.isTempView)
    // How rows that are there already are divided and ordered, is said by expressions too; nothing is done with them.
    case _: LogicalRDD =>
    case start: StreamStart => Streams.describe(start, result)
    case leaf: LeafNode => Sources.describe(leaf, result); rest(plan, result)
    case command: Command => Sources.describeCommand(command, result); rest(plan, result)
    case _ => rest(plan, result)
  }

  private def rest(plan: LogicalPlan, result: ObjectNode): Unit =
    if (plan.expressions.nonEmpty) result.set[ArrayNode]("expressions", expressions(plan.expressions))

  private def expressions(list: Seq[Expression]): ArrayNode = {
    val result = json.arrayNode()
    list.foreach(one => result.add(expression(one)))
    result
  }

  private def array(ids: Seq[Long]): ArrayNode = {
    val result = json.arrayNode()
    ids.foreach(result.add(_))
    result
  }

  private def definition(id: Long): Int = definitions.getOrElseUpdate(id, definitions.size)

  private def note(attribute: Attribute): Long = {
    val met = numbers.size
    val number = numbers(attribute.exprId)
    if (number == met) {
      val known = json.arrayNode().add(attribute.name).add(attribute.dataType.catalogString)
      if (Padding.needed(attribute.metadata)) known.add("char")
      attributes.set[ArrayNode](number.toString, known)
    }
    number
  }

  private def expression(one: Expression): ObjectNode = {
    val result = json.objectNode()
    one match {
      case a: Attribute => result.put("column", note(a))
      case OuterReference(a: Attribute) => result.put("outer", note(a))
      case _: Literal => result.put("literal", true)
      case a: Alias =>
        result.put("alias", note(a.toAttribute))
        result.set[ArrayNode]("of", expressions(Seq(a.child)))
      case a: AggregateExpression =>
        result.put("aggregate", Names.of(a.aggregateFunction))
        if (a.isDistinct) result.put("distinct", true)
        result.set[ArrayNode]("of", expressions(a.aggregateFunction.children))
        if (a.filter.nonEmpty) result.set[ArrayNode]("where", expressions(a.filter.toSeq))
      case w: WindowExpression =>
        result.put("over", whole(w.windowSpec))
        result.set[ArrayNode]("of", expressions(Seq(w.windowFunction)))
        result.set[ArrayNode]("keys", expressions(w.windowSpec.partitionSpec ++ w.windowSpec.orderSpec))
      case s: SubqueryExpression =>
        result.put("subquery", Names.of(s))
        result.set[ObjectNode]("plan", node(s.plan))
        result.set[ArrayNode]("of", expressions(s.children))
      case u: PythonUDF =>
        result.put("function", "PythonUDF").put("name", u.name)
        result.set[ArrayNode]("of", expressions(u.children))
      case u: ScalaUDF =>
        result.put("function", "ScalaUDF").put("name", u.udfName.getOrElse("")).put("by", u.function.getClass.getName)
        result.set[ArrayNode]("of", expressions(u.children))
      case Padding(text) =>
        result.put("function", "ReadSidePadding")
        result.set[ArrayNode]("of", expressions(Seq(text)))
      case other =>
        result.put("function", Names.of(other))
        other match {
          case cast: Cast if Cast.canUpCast(cast.child.dataType, cast.dataType) => result.put("widens", true)
          case get: GetStructField => result.put("field", get.ordinal)
          case _ =>
        }
        if (other.children.nonEmpty) result.set[ArrayNode]("of", expressions(other.children))
    }
    result
  }

  /** Whether a window function looks at whole partitions: only then does it fuse their rows into one value. */
  private def whole(spec: WindowSpecDefinition): Boolean = spec.frameSpecification match {
    case frame: SpecifiedWindowFrame => frame.lower == UnboundedPreceding && frame.upper == UnboundedFollowing
    case _ => spec.orderSpec.isEmpty
  }
}

/** Numbers for the columns and nodes of one plan, in the order in which they are met: the words of description and recipe. */
class Numbers {
  private val given = mutable.Map.empty[ExprId, Long]

  def apply(id: ExprId): Long = given.getOrElseUpdate(id, given.size.toLong)

  /** How many there are; the next new column gets this one. */
  def size: Int = given.size

  private val described = mutable.ArrayBuffer.empty[String]

  /** Notes a node of the plan that is described. */
  def meet(plan: LogicalPlan): Unit = described += Names.of(plan)

  /** Whether that many nodes were described. */
  def all(count: Int): Boolean = described.size == count

  /** Whether a node is of the kind that was described under this number. */
  def met(number: Int, plan: LogicalPlan): Boolean = described.lift(number).contains(Names.of(plan))
}

/** What Spark puts above a table to fill a CHAR up with blanks; in files it may have them or not. */
object Padding {
  private val KIND = "__CHAR_VARCHAR_TYPE_STRING"

  def unapply(one: Expression): Option[Expression] = one match {
    case call: StaticInvoke if call.staticObject == classOf[CharVarcharCodegenUtils] && call.functionName == "readSidePadding" => call.arguments.headOption
    case _ => None
  }

  /** Whether a column is a CHAR by what Spark remembers of it. */
  def needed(about: Metadata): Boolean = about.contains(KIND) && about.getString(KIND).startsWith("char(")
}

/** The conjuncts of a condition, in the order in which both description and recipe count them. */
object Conjuncts extends PredicateHelper {
  def of(condition: Expression): Seq[Expression] = splitConjunctivePredicates(condition)
}

/** Names of classes: short for Spark's own, whole for all others, so that a look-alike is not taken for the original. */
object Names {
  private val homes = Seq(
    "org.apache.spark.sql.catalyst.expressions.",
    "org.apache.spark.sql.catalyst.plans.logical.",
    "org.apache.spark.sql.catalyst.streaming.",
    "org.apache.spark.sql.catalyst.catalog.",
    "org.apache.spark.sql.catalyst.analysis.",
    "org.apache.spark.sql.execution.",
    "org.apache.spark.sql.headgate."
  )

  /** Every node and expression of every plan is asked for its name, and there are a few hundred kinds of them. */
  private val known = new ClassValue[String] {
    override def computeValue(kind: Class[_]): String = {
      val name = kind.getName.stripSuffix("$")
      if (homes.exists(name.startsWith)) name.split("[.$]").last else name
    }
  }

  def of(value: Any): String = known.get(value.getClass)
}
