package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.node.{ArrayNode, JsonNodeFactory}
import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.sql.catalyst.analysis.{ExpressionWithUnresolvedIdentifier, FunctionRegistry, UnresolvedFunction, UnresolvedInlineTable}
import org.apache.spark.sql.catalyst.expressions.{Expression, LeafExpression}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.classic.SparkSession

/** The functions that a plan names, before they are any.
  *
  * INVARIANT: Spark evaluates while it analyses, wherever it wants a constant: in VALUES, a limit, a name, a schema, the
  * arguments of many functions. Nothing is left of that in the plan that is decided on, so that what is not known must not
  * get into analysis.
  */
object Functions {
  /** Kinds that the guard has said it knows; the list is the same for all guards. */
  private val known = ConcurrentHashMap.newKeySet[String]()

  private lazy val builtin = kinds(FunctionRegistry.builtin)
  private lazy val internal = kinds(FunctionRegistry.internal)

  def check(session: SparkSession, node: LogicalPlan): Unit = {
    val all = node.expressions.flatMap(within)
    if (all.exists(computedName)) throw Hook.refused("the name of a function may not be computed; write it")
    val asked = all.collect { case one: UnresolvedFunction => one }.flatMap { one =>
      // Functions of users and of the catalog are looked at when they are decided on, but from VALUES they do not get there.
      kind(one).orElse(Option.when(node.isInstanceOf[UnresolvedInlineTable])(one.nameParts.mkString(".")))
    }.distinct.filterNot(known.contains)
    if (asked.nonEmpty) {
      val json = JsonNodeFactory.instance.objectNode().put("kind", "functions")
      json.set[ArrayNode]("names", Reading.texts(asked))
      Hook.beforehand(session, json.toString).foreach(why => throw Hook.refused(why))
      asked.foreach(known.add)
    }
    all.foreach { case one: UnresolvedFunction => Types.check(session, one); case _ => }
  }

  /** An expression and all that is in it, also where Spark does not look for expressions: `* EXCEPT`, `|> SET`. */
  private def within(one: Expression): Seq[Expression] = one +: (one match {
    case leaf: LeafExpression => leaf.productIterator.toSeq.flatMap(inside).flatMap(within)
    case other => other.children.flatMap(within)
  })

  private def inside(part: Any): Seq[Expression] = part match {
    case one: Expression => Seq(one)
    case some: Option[_] => some.toSeq.flatMap(inside)
    case list: Iterable[_] => list.toSeq.flatMap(inside)
    case _ => Nil
  }

  /** `IDENTIFIER('from_' || 'xml')(...)`: a function whose name is known when it is too late to ask about it. */
  private def computedName(one: Expression): Boolean = one match {
    case named: ExpressionWithUnresolvedIdentifier => named.children.size > 1
    case _ => false
  }

  /** What a function of Spark's own is made of. */
  private def kind(one: UnresolvedFunction): Option[String] = one.nameParts.map(_.toLowerCase) match {
    case Seq(name) => (if (one.isInternal) internal.get(name) else None).orElse(builtin.get(name))
    case Seq("builtin", name) => builtin.get(name)
    case Seq("system", "builtin", name) => builtin.get(name)
    case _ => None
  }

  private def kinds(registry: FunctionRegistry): Map[String, String] =
    registry.listFunction().flatMap(name => registry.lookupFunction(name).map(one => name.funcName.toLowerCase -> plain(one.getClassName, name.funcName))).toMap

  /** Some functions are made by another class, which is called after them, some by one that has no name. */
  private def plain(maker: String, name: String): String =
    if (maker.contains("$Lambda")) name else maker.split("[.$]").last.replaceFirst("(Expression)?Builder$", "")
}
