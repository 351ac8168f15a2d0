package org.apache.spark.sql.headgate

import com.fasterxml.jackson.databind.JsonNode
import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.LogicalRelation

/** Applies a recipe: guards at leaves, changes at operators, masks at the root. It follows the recipe and decides nothing.
  *
  * INVARIANT: no id stands for the raw value below and for the masked one above. That would be a leak: Spark takes a
  * projection that gives out the ids it takes in for one that does nothing, and removes it. So where a table can give out
  * the raw column under a new id, the guarded one has the old id, and the plan above stays as it was analysed. Elsewhere,
  * and for masks, what was changed has the new id, and everything above is pointed at that.
  *
  * INVARIANT: what it is applied to is, node by node, the plan that was described. A guard that was meant for another node
  * than the one with its number guards nothing.
  */
class Apply(recipe: JsonNode, numbers: Numbers) {
  private type Renamed = Map[ExprId, Attribute]

  private var count = 0
  private val carried = mutable.Map.empty[String, Attribute]
  /** Common table expressions whose columns are what they were. Definitions come before what refers to them. */
  private val untouched = mutable.Set.empty[Long]
  /** Whether something in the plan could tell of what it is put to. */
  private var telling = true
  /** Whether something may be NULL of which Spark knew that it never is. */
  private var loosened = Seq("nulled", "copies", "quiet").exists(recipe.path(_).size() > 0)
  private val quiet = Quiet(recipe, numbers)

  def apply(plan: LogicalPlan): LogicalPlan = {
    // INVARIANT: a recipe that was cut short is no recipe.
    Apply.parts.find(!recipe.has(_)).foreach(part => Build.broken(s"it has no `$part`"))
    if (Apply.parts.forall(recipe.get(_).isEmpty)) return plan
    telling = Telling.in(plan)
    if (!telling && Apply.parts.forall(part => part == "unused" || recipe.get(part).isEmpty)) plan else {
      val (changed, renamed) = visit(plan)
      if (!numbers.all(count)) Build.broken("it is about another plan")
      val kept = plain(plan, changed, renamed)
      val made = if (loosened) Nullable(kept) else kept
      if (plan.isInstanceOf[Tail]) Apply.tailed(made) else made
    }
  }

  /** The plan without what was only carried: the columns it had before, in their places. */
  private def plain(before: LogicalPlan, after: LogicalPlan, renamed: Renamed): LogicalPlan = {
    val wanted = before.output.map(one => renamed.getOrElse(one.exprId, one))
    if (wanted.map(_.exprId) == after.output.map(_.exprId)) after else Project(wanted, after)
  }

  private def visit(plan: LogicalPlan): (LogicalPlan, Renamed) = {
    val id = count.toString
    if (!numbers.met(count, plan)) Build.broken("it is about another plan")
    count += 1
    val inside = mutable.ArrayBuffer.empty[LogicalPlan]
    var lateral: Renamed = Map.empty
    plan.expressions.foreach(_.foreach {
      case subquery: SubqueryExpression =>
        val (changed, renamed) = visit(subquery.plan)
        inside += plain(subquery.plan, changed, renamed)
        if (plan.isInstanceOf[LateralJoin]) lateral ++= renamed
      case _ =>
    })
    val below = plan.children.map(visit)
    val renamed: Renamed = plan match {
      // The output of a set operation is that of its first branch.
      case _: Union | _: SetOperation => below.headOption.map(_._2).getOrElse(Map.empty)
      case _ => below.flatMap(_._2).toMap ++ lateral
    }
    plan match {
      case reference: CTERelationRef if untouched(reference.cteId) => return (plan, Map.empty)
      case _ if Apply.positional(plan) => return instance(plan, plan.withNewChildren(children(plan, below)))
      case _ =>
    }
    val pointed = repoint(quiet(plan), inside.iterator, renamed).withNewChildren(children(plan, below))
    val changed = operator(id, plan, pointed)
    val left = renamed.filter { case (old, _) => plan.output.exists(_.exprId == old) }
    val (guarded, cells) = guard(id, plan, changed)
    val done = mask(id, plan, guarded, left ++ cells)
    plan match {
      case definition: CTERelationDef if done._2.isEmpty && sameColumns(definition, done._1) => untouched += definition.id
      case _ =>
    }
    done
  }

  /** Whether columns may be NULL where they could before, as all that refers to them says. */
  private def sameColumns(before: LogicalPlan, after: LogicalPlan): Boolean = {
    val now = if (loosened) Nullable(after) else after
    before.output.map(one => (one.dataType, one.nullable)) == now.output.map(one => (one.dataType, one.nullable))
  }

  private def children(plan: LogicalPlan, below: Seq[(LogicalPlan, Renamed)]): Seq[LogicalPlan] = plan match {
    // Columns of these are matched by place: nothing may stand beside them.
    case _: CTERelationDef | _: WithCTE | _: Union | _: SetOperation => alone(plan, below)
    case _ if Apply.positional(plan) => alone(plan, below)
    case _ => below.map(_._1)
  }

  private def alone(plan: LogicalPlan, below: Seq[(LogicalPlan, Renamed)]): Seq[LogicalPlan] =
    plan.children.zip(below).map { case (before, (after, renamed)) => plain(before, after, renamed) }

  /** A reference to a common table expression, or a recursive one, with new ids: its columns may be guarded ones now. */
  private def instance(before: LogicalPlan, after: LogicalPlan): (LogicalPlan, Renamed) = after match {
    case relation: MultiInstanceRelation =>
      val copied = relation.newInstance()
      // It has its own list of columns, which says what the definition's were when it was analysed.
      val fresh = if (copied.output.forall(_.nullable)) copied else Project(copied.output.map(Apply.perhapsNull), copied)
      (fresh, before.output.zip(fresh.output).map { case (old, now) => old.exprId -> now }.toMap)
    case other =>
      val fresh = Project(other.output.map(one => Alias(one, one.name)(qualifier = one.qualifier)), other)
      (fresh, before.output.zip(fresh.output).map { case (old, now) => old.exprId -> now }.toMap)
  }

  private def repoint(plan: LogicalPlan, inside: Iterator[LogicalPlan], renamed: Renamed): LogicalPlan = {
    if (renamed.isEmpty && !inside.hasNext) return plan
    def outer(sub: LogicalPlan): LogicalPlan = if (renamed.isEmpty) sub else sub.transformAllExpressionsWithSubqueries {
      case OuterReference(a: Attribute) if renamed.contains(a.exprId) => OuterReference(renamed(a.exprId))
    }
    val within = plan.transformExpressionsDown { case subquery: SubqueryExpression =>
      val now = outer(inside.next())
      if (now eq subquery.plan) subquery else subquery.withNewPlan(now)
    }
    if (renamed.isEmpty) within else within.transformExpressionsDown {
      case a: Attribute if renamed.contains(a.exprId) => renamed(a.exprId).withQualifier(a.qualifier)
    }
  }

  // At operators: conjuncts that are removed, values that are withheld, columns that are carried, groups that are too small.

  private def operator(id: String, before: LogicalPlan, plan: LogicalPlan): LogicalPlan = {
    val removed = recipe.path("removed").path(id).elements().asScala.map(_.asInt).toSet
    val nulled = recipe.path("nulled").path(id).elements().asScala.map(_.asLong).toSet
    val keys = recipe.path("carry").path(id).elements().asScala.map(_.asText).toSeq
    val kept: LogicalPlan = plan match {
      case Filter(condition, child) if removed.nonEmpty => without(condition, removed).map(Filter(_, child)).getOrElse(child)
      case join: Join if removed.nonEmpty => join.copy(condition = join.condition.flatMap(without(_, removed)))
      case _ if removed.nonEmpty => Build.broken(s"no conjuncts in ${Names.of(plan)}")
      case other => other
    }
    val withheld = if (nulled.isEmpty) kept else kept.mapExpressions {
      case alias @ Alias(child, name) if nulled.contains(numbers(alias.exprId)) => Alias(Literal(null, child.dataType), name)(alias.exprId, alias.qualifier)
      case other => other
    }
    val own = copied(withheld, recipe.path("copies").path(id).elements().asScala.toSeq.filterNot(one => nulled(one.get("into").asLong)))
    val wider = if (keys.isEmpty) own else carry(own, keys)
    val groups = recipe.path("groups").path(id)
    if (groups.isMissingNode) wider else largeGroups(wider, groups)
  }

  private def copied(plan: LogicalPlan, wanted: Seq[JsonNode]): LogicalPlan = if (wanted.isEmpty) plan else {
    val copies = wanted.map(one => one.get("into").asLong -> carried(one.get("key").asText)).toMap
    val taken = mutable.Set.empty[Long]
    val changed = plan.mapExpressions {
      case alias: Alias if copies.contains(numbers(alias.exprId)) =>
        taken += numbers(alias.exprId)
        alias.withNewChildren(Seq(Apply.taking(alias.child, copies(numbers(alias.exprId)))))
      case other => other
    }
    // INVARIANT: an aggregate that does not take what was made for it takes the cells of another one.
    if (taken.size != wanted.size) Build.broken("a copy that no aggregate takes, or two for one")
    changed
  }

  private def without(condition: Expression, removed: Set[Int]): Option[Expression] =
    Conjuncts.of(condition).zipWithIndex.collect { case (one, place) if !removed(place) => one }.reduceOption(And)

  private def carry(plan: LogicalPlan, keys: Seq[String]): LogicalPlan = plan match {
    case project: Project => project.copy(projectList = project.projectList ++ keys.map(carried))
    case aggregate: Aggregate =>
      val all = keys.map { key =>
        val one = Alias(Max(carried(key)).toAggregateExpression(), key)()
        carried(key) = one.toAttribute
        one
      }
      aggregate.copy(aggregateExpressions = aggregate.aggregateExpressions ++ all)
    case _ => Build.broken(s"nothing can be carried through ${Names.of(plan)}")
  }

  /** Keeps the groups with as many tuples behind each value as the policies ask for. */
  private def largeGroups(plan: LogicalPlan, wanted: JsonNode): LogicalPlan = plan match {
    case aggregate: Aggregate =>
      val sizes = wanted.elements().asScala.toSeq.map { group =>
        new GroupSize(carried(group.get("need").asText), Option(group.get("row")).map(row => carried(row.asText)), aggregate.groupingExpressions)
      }
      val below = sizes.foldLeft(aggregate.child)((rows, size) => size.below(rows))
      val bare = new BareGroups(aggregate.copy(aggregateExpressions = aggregate.aggregateExpressions.map(GroupSize.tried)))
      val groups = aggregate.copy(aggregateExpressions = bare.columns ++ sizes.flatMap(_.columns), child = below)
      Project(bare.asked, GuardBarrier(Filter(sizes.map(_.enough).reduce(And), groups)))
    case _ => Build.broken(s"no groups in ${Names.of(plan)}")
  }

  // At leaves: rows and cells that are not covered.

  private def guard(id: String, before: LogicalPlan, plan: LogicalPlan): (LogicalPlan, Renamed) = {
    val wanted = recipe.path("guards").path(id)
    def column(number: JsonNode): Attribute =
      plan.output.find(one => numbers(one.exprId) == number.asLong).getOrElse(Build.broken(s"no column $number"))
    val columns = wanted.path("cells").elements().asScala.map(cell => column(cell.get(0)) -> cell.get(1)).toSeq
    // What nothing uses is left out by Spark; where that might tell, it is not there in the first place.
    val unused = if (telling) recipe.get("unused").path(id).elements().asScala.map(column).toSeq else Nil
    if (wanted.isMissingNode && unused.isEmpty) return (plan, Map.empty)
    val changed = columns.map(_._1) ++ unused
    loosened ||= changed.exists(!_.nullable)
    val (leaf, raw) = Apply.underNewIds(plan, changed)
    val build = new Build(plan.output.map(one => numbers(one.exprId) -> raw.getOrElse(one.exprId, one)).toMap)
    val rows = Option(wanted.get("where")).map(term => Filter(Unskippable.in(build(term), before), leaf)).getOrElse(leaf)
    val values = columns.map { case (column, term) => column -> Unskippable.in(build(term), before) } ++ unused.map(one => one -> Literal(null, one.dataType))
    val cells = values.map { case (column, value) =>
      val id = if (raw.contains(column.exprId)) column.exprId else NamedExpression.newExprId
      column.exprId -> Alias(value, column.name)(id, column.qualifier, Some(column.metadata))
    }.toMap
    val extra = wanted.path("carried").elements().asScala.map { one =>
      val value = if (one.has("row")) MonotonicallyIncreasingID() else Unskippable.in(build(one.get("value")), before)
      val alias = Alias(value, one.get("key").asText)()
      carried(one.get("key").asText) = alias.toAttribute
      alias
    }.toSeq
    val list = plan.output.map(column => cells.getOrElse(column.exprId, column)) ++ extra
    val guarded = if (cells.isEmpty && extra.isEmpty) rows else Project(list, rows)
    val renamed = cells.collect { case (old, alias) if alias.exprId != old => old -> alias.toAttribute }
    (if (telling && !wanted.isMissingNode) GuardBarrier(guarded) else guarded, renamed)
  }

  // At the root: what is shown in place of what may not be seen.

  private def mask(id: String, before: LogicalPlan, plan: LogicalPlan, renamed: Renamed): (LogicalPlan, Renamed) = {
    val wanted = recipe.path("masks").path(id)
    if (wanted.isMissingNode) return (plan, renamed)
    val current = before.output.map(one => renamed.getOrElse(one.exprId, plan.output.find(_.exprId == one.exprId).getOrElse(one)))
    val named = before.output.zip(current).map { case (old, now) => numbers(old.exprId) -> now }.toMap
    val build = new Build(named ++ carriedColumns(wanted))
    val shown = wanted.elements().asScala.map(one => one.get("place").asInt -> build(one.get("value"))).toMap
    val list = before.output.zip(current).zipWithIndex.map { case ((old, now), place) =>
      shown.get(place).map(value => Alias(value, old.name)(qualifier = old.qualifier, explicitMetadata = Some(old.metadata))).getOrElse(now)
    }
    val after = before.output.zip(list).collect { case (old, alias: Alias) => old.exprId -> alias.toAttribute }.toMap
    (Project(list, plan), renamed ++ after)
  }

  /** A carried column stands in an expression as a negative number: the place of its key in the mask's `carried`. */
  private def carriedColumns(wanted: JsonNode): Map[Long, Attribute] =
    wanted.elements().asScala.flatMap(_.path("carried").elements().asScala.map(_.asText).zipWithIndex.map {
      case (key, place) => -(place + 1).toLong -> carried(key)
    }).toMap
}

object Apply {
  /** What a recipe speaks of. One that asks for none of it leaves the plan as it is. */
  private val parts = Seq("guards", "unused", "masks", "removed", "nulled", "copies", "carry", "groups", "quiet")

  /** What is made of one aggregate, with that taking another column: in place of its own, or of the rows that it counts. */
  private def taking(made: Expression, copy: Attribute): Expression = {
    val aggregates = made.collect { case one: AggregateExpression => one }
    val columns = aggregates.flatMap(_.references).distinct
    val fits = columns match {
      case Seq(column) => column.dataType == copy.dataType
      case Seq() => aggregates.forall { case one => one.aggregateFunction match { case Count(taken) => taken.forall(_.foldable); case _ => false } }
      case _ => false
    }
    if (aggregates.size != 1 || !fits) Build.broken("an aggregate takes something else")
    made.transform { case one: AggregateExpression =>
      if (columns.isEmpty) one.copy(aggregateFunction = Count(copy))
      else one.transform { case a: Attribute if a.exprId == columns.head.exprId => copy }
    }
  }

  /** The same with the last rows taken at the root, where alone Spark can: columns are masked before as well as after. */
  private def tailed(plan: LogicalPlan): LogicalPlan = plan match {
    case project: Project => tailed(project.child) match {
      case tail: Tail => tail.copy(child = project.copy(child = tail.child))
      case _ => project
    }
    case other => other
  }

  /** A table that gives out columns under new ids, and these by the old ones; nothing where that cannot be.
    *
    * A column of which Spark knows that it is never NULL gets the new id above, as it may be NULL there.
    */
  private def underNewIds(plan: LogicalPlan, columns: Seq[Attribute]): (LogicalPlan, Map[ExprId, Attribute]) = plan match {
    case relation: LogicalRelation if columns.forall(_.nullable) =>
      val raw = relation.output.collect { case one if columns.exists(_.exprId == one.exprId) => one.exprId -> one.newInstance() }.toMap
      (relation.copy(output = relation.output.map(one => raw.getOrElse(one.exprId, one))), raw)
    case other => (other, Map.empty)
  }

  private def perhapsNull(column: Attribute): NamedExpression =
    if (column.nullable) column else Alias(KnownNullable(column), column.name)(qualifier = column.qualifier, explicitMetadata = Some(column.metadata))

  private val byPlace = Set("CTERelationRef", "UnionLoop", "UnionLoopRef")

  /** Nodes whose columns are those of another plan, by place. By name: not every version of Spark has all of them. */
  def positional(plan: LogicalPlan): Boolean = byPlace(Names.of(plan))
}
