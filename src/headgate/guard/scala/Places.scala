package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.protobuf.Message

import org.apache.spark.connect.proto.{Expression, Relation, WithColumns}

/** Databases and functions as users are shown them: without the place of their files, and what they are made of.
  *
  * Spark answers questions about them with rows that look like anybody's own; so it is the question that is changed.
  */
object Places {
  /** The same object if nothing is asked about databases or functions, so that each message is looked at once. */
  def hidden(message: Message): Message = message match {
    case one: Relation if one.hasCatalog && (one.getCatalog.hasListDatabases || one.getCatalog.hasGetDatabase) => placeless(one)
    case one: Relation if one.hasCatalog && (one.getCatalog.hasListFunctions || one.getCatalog.hasGetFunction) => bodiless(one)
    case other =>
      val changed = other.getAllFields.asScala.toSeq.flatMap { case (field, value) => different(value).map(field -> _) }
      if (changed.isEmpty) other
      else changed.foldLeft(other.toBuilder) { case (made, (field, value)) => made.setField(field, value) }.build()
  }

  private def different(value: Any): Option[AnyRef] = value match {
    case inner: Message => Some(hidden(inner)).filter(_ ne inner)
    case list: java.util.List[_] =>
      val inner = list.asScala.map { case one: Message => hidden(one); case one => one.asInstanceOf[AnyRef] }
      if (inner.corresponds(list.asScala)((one, other) => one eq other.asInstanceOf[AnyRef])) None else Some(inner.asJava)
    case _ => None
  }

  /** The place is an empty text, as some clients take no NULL there. */
  private def placeless(databases: Relation): Relation =
    replaced(databases, "locationUri", Expression.newBuilder().setLiteral(Expression.Literal.newBuilder().setString("")))

  /** What Spark says of a lasting function in SQL is what it is made of; of its own, how they are used. */
  private def bodiless(functions: Relation): Relation = {
    val shown = "if(startswith(className, 'org.apache.spark.sql.catalyst.'), description, NULL)"
    replaced(functions, "description", Expression.newBuilder().setExpressionString(Expression.ExpressionString.newBuilder().setExpression(shown)))
  }

  /** Clients know the relation by what is common to all. */
  private def replaced(asked: Relation, name: String, value: Expression.Builder): Relation = {
    val column = Expression.Alias.newBuilder().setExpr(value).addName(name)
    val columns = WithColumns.newBuilder().setInput(asked.toBuilder.clearCommon()).addAliases(column)
    Relation.newBuilder().setCommon(asked.getCommon).setWithColumns(columns).build()
  }
}
