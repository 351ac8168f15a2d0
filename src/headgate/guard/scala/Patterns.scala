package org.apache.spark.sql.headgate

import java.util.concurrent.ConcurrentHashMap
import java.util.regex.Pattern
import scala.util.control.NonFatal

import org.apache.spark.{SparkRuntimeException, TaskKilledException}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.util.{CollationSupport, StringUtils}
import org.apache.spark.sql.types.StringType
import org.apache.spark.unsafe.types.UTF8String

/** Lets go of a query whose pattern backtracks.
  *
  * Java's matcher does not notice that its thread was told to stop: `repeat('a', 60) RLIKE '(.*a){25}b'` holds a core
  * for years, cancelled or not. A text that is matched with a pattern which might backtrack is therefore
  * matched once before, in the same way, by a matcher that does notice. What the query gets is what Spark then says.
  */
object Patterns {
  private val WHOLE = 0
  private val FIRST = 1
  private val EVERY = 2
  private val KEPT = 1000
  private val reference = "\\\\[0-9k]".r
  private val compiled = new ConcurrentHashMap[(String, Int, Int), Pattern]()

  /** A pattern that an expression matches its first child with: how often, from which place, and LIKE's escape. */
  private case class Matching(pattern: Expression, mode: Int, from: Expression = Literal(1), escape: Char = '\\')

  def apply(plan: LogicalPlan): LogicalPlan =
    if (used(plan)) plan.transformAllExpressionsWithSubqueries { case one => patient(one) } else plan

  private def used(plan: LogicalPlan): Boolean = plan.exists(_.expressions.exists(_.exists {
    case subquery: SubqueryExpression => used(subquery.plan)
    case one => risky(one).nonEmpty || delimited(one) || stands(one)
  }))

  /** Whether an expression stands for one that Spark puts in its place later. */
  private def stands(one: Expression): Boolean = one match {
    case replaceable: RuntimeReplaceable => replaceable.replacement.exists(risky(_).nonEmpty)
    case _ => false
  }

  private def patient(one: Expression): Expression = one match {
    case _ if delimited(one) => throw new RefusedException(s"refused by the guard: a pattern with repetitions is not allowed in `${one.prettyName}`")
    case replaceable: RuntimeReplaceable if stands(one) => patient(replaceable.replacement)
    case other if risky(other).nonEmpty => other.withNewChildren(risky(other).foldLeft(other.children.head)(tried) +: other.children.tail)
    case other => other
  }

  private def risky(one: Expression): Seq[Matching] = patterns(one).filter(matching => mightBacktrack(matching.pattern, like = matching.mode == WHOLE))

  private def patterns(one: Expression): Seq[Matching] = one match {
    case like: Like => Seq(Matching(like.right, WHOLE, escape = like.escapeChar))
    case LikeAll(_, texts) => likes(texts)
    case LikeAny(_, texts) => likes(texts)
    case NotLikeAll(_, texts) => likes(texts)
    case NotLikeAny(_, texts) => likes(texts)
    case replace: RegExpReplace => Seq(Matching(replace.regexp, EVERY, replace.pos))
    case _: RegExpExtractAll | _: StringSplit => Seq(Matching(one.children(1), EVERY))
    case _: RLike | _: RegExpExtractBase => Seq(Matching(one.children(1), FIRST))
    case _ => Nil
  }

  private def likes(texts: Seq[UTF8String]): Seq[Matching] = texts.map(text => Matching(Literal(text, StringType), WHOLE))

  /** These match pieces of a text with patterns, which cannot be tried beforehand. */
  private def delimited(one: Expression): Boolean = one match {
    case map: StringToMap => Seq(map.pairDelim, map.keyValueDelim).exists(mightBacktrack(_, like = false))
    case url if Names.of(url).endsWith("ParseUrl") => url.children.drop(2).headOption.exists(mightBacktrack(_, like = false))
    case _ => false
  }

  /** One choice tries every length at every place, which is quick enough; two within each other, or one that a reference
    * asks about, need not be. */
  private def mightBacktrack(pattern: Expression, like: Boolean): Boolean = pattern match {
    case Literal(null, _) => false
    case Literal(text: UTF8String, _) if like => text.toString.stripPrefix("%").stripSuffix("%").contains('%')
    case Literal(text: UTF8String, _) => mightBacktrack(text.toString)
    case _ => true
  }

  private def mightBacktrack(pattern: String): Boolean = pattern.count("*+{?|".contains(_)) > 1 || reference.findFirstIn(pattern).isDefined

  /** Whether a pattern that is matched with names of tables and the like might backtrack. It is several, with bars between them,
    * and a star in one is any text; behind all the rest it is found at once.
    */
  private[sql] def ofNames(pattern: String): Boolean = pattern.trim.split("\\|").exists(one => mightBacktrack(one.trim.stripSuffix("*")))

  /** Whether a pattern that is matched with names of columns might backtrack; one name or another does not. */
  private[headgate] def ofColumns(pattern: String): Boolean = !pattern.matches("\\(?[\\w|]*\\)?") && mightBacktrack(pattern)

  private def tried(text: Expression, one: Matching): Expression = {
    val flags = text.dataType match {
      case string: StringType => CollationSupport.collationAwareRegexFlags(string.collationId)
      case _ => 0
    }
    val arguments = Seq(text, one.pattern, one.from, Literal(one.mode), Literal(flags), Literal(one.escape.toInt))
    StaticInvoke(Patterns.getClass, text.dataType, "matched", arguments, propagateNull = true, returnNullable = text.nullable)
  }

  /** The text, after as long as matching it takes. Whatever is wrong with the pattern, Spark says it afterwards.
    *
    * INVARIANT: what took the whole stack is not matched again. Spark takes that for the end of the process that it happened
    * in, and nothing silences it; this is an error like any other.
    */
  def matched(text: UTF8String, pattern: UTF8String, from: Int, mode: Int, flags: Int, escape: Int): UTF8String = {
    try {
      val matcher = compile(pattern.toString, mode, flags, escape.toChar).matcher(new Interruptible(text.toString))
      matcher.region(from - 1, matcher.regionEnd)
      if (mode == WHOLE) matcher.matches() else while (matcher.find() && mode == EVERY) {}
    } catch {
      case stopped: TaskKilledException => throw stopped
      case NonFatal(_) =>
      case _: StackOverflowError => throw tooDeep
    }
    text
  }

  private def tooDeep: SparkRuntimeException = {
    val why = "it goes deeper than the stack, in itself or with so long a text"
    new SparkRuntimeException("INVALID_PARAMETER_VALUE.PATTERN", Map("parameter" -> "the pattern", "functionName" -> "a match", "value" -> why))
  }

  private def compile(pattern: String, mode: Int, flags: Int, escape: Char): Pattern = {
    if (compiled.size > KEPT) compiled.clear()
    val text = if (mode == WHOLE) StringUtils.escapeLikeRegex(pattern, escape) else pattern
    compiled.computeIfAbsent((text, mode, flags), _ => Pattern.compile(text, flags))
  }

  /** A text that a thread which was told to stop cannot read on. */
  private class Interruptible(text: String) extends CharSequence {
    private var reads = 0

    override def charAt(place: Int): Char = {
      reads += 1
      if ((reads & 0xfff) == 0 && Thread.currentThread().isInterrupted) throw new TaskKilledException("told to stop while matching a pattern")
      text.charAt(place)
    }
    override def length: Int = text.length
    override def subSequence(from: Int, to: Int): CharSequence = text.subSequence(from, to)
    override def toString: String = text
  }
}
