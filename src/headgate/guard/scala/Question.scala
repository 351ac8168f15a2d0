package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.expressions.{Expression, Literal}

/** What an aggregate is about: rows of a table that meet conditions, divided by keys, both by the table's columns.
  *
  * One that is about more than that (`other`) can be asked again, and cannot be compared with others; nor can a stream.
  * `rows` are the conditions of the policies, `kinds` says how its answers could be taken apart, `need` how large a group
  * must be for each row's sake, `extent` which part of the table is read, and `settings` what the session was set to, if
  * that makes a difference.
  */
case class Question(
    where: Set[Stated],
    keys: Set[Stated],
    rows: Set[Stated],
    kinds: Set[String],
    streaming: Boolean,
    need: Stated = new Stated(Literal(1)),
    extent: Extent = Extent.none,
    settings: Map[String, String] = Map.empty,
    other: Option[Any] = None) {
  def comparable: Boolean = other.isEmpty && !streaming
  /** Whether it may be about other rows the next time. */
  def moving: Boolean = other.exists(_.isInstanceOf[Moving])
  def sameRows(that: Question): Boolean = copy(kinds = Set.empty) == that.copy(kinds = Set.empty)
}

/** INVARIANT: what may be about other rows the next time is not the same as anything, not even as itself. */
final class Moving

/** An expression as it was written, which is equal to all that Spark knows to mean the same.
  *
  * INVARIANT: what is computed is not the form by which Spark compares, of which a part may be no more than a description:
  * from three operands on, `a OR b OR c` is.
  */
final class Stated(val written: Expression) {
  private val form = written.canonicalized

  override def equals(that: Any): Boolean = that match { case other: Stated => form == other.form; case _ => false }
  override def hashCode: Int = form.hashCode
}
