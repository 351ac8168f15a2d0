package org.apache.spark.sql.connect.headgate

import scala.jdk.CollectionConverters._

import org.sparkproject.connect.protobuf.Message

import org.apache.spark.connect.proto.{Expression, Relation, WithColumns}

/** Databases as users are shown them: without the place of their files.
  *
  * Spark answers questions about databases with rows that look like anybody's own; so it is the question that is changed.
  */
object Places {
  def hidden(message: Message): Message = if (asks(message)) changed(message) else message

  private def asks(message: Message): Boolean = about(message) || inside(message).exists(asks)

  private def about(message: Message): Boolean = message match {
    case one: Relation => one.hasCatalog && (one.getCatalog.hasListDatabases || one.getCatalog.hasGetDatabase)
    case _ => false
  }

  private def inside(message: Message): Iterator[Message] = message.getAllFields.values.asScala.iterator.flatMap {
    case inner: Message => Iterator(inner)
    case list: java.util.List[_] => list.asScala.iterator.collect { case inner: Message => inner }
    case _ => Iterator.empty
  }

  private def changed(message: Message): Message = message match {
    case one: Relation if about(one) => placeless(one)
    case other =>
      val made = other.toBuilder
      other.getAllFields.asScala.foreach {
        case (field, inner: Message) if asks(inner) => made.setField(field, changed(inner))
        case (field, list: java.util.List[_]) => made.setField(field, list.asScala.map { case inner: Message => hidden(inner); case value => value }.asJava)
        case _ =>
      }
      made.build()
  }

  /** Clients know the relation by what is common to all; the place is an empty text, as some clients take no NULL there. */
  private def placeless(databases: Relation): Relation = {
    val nowhere = Expression.newBuilder().setLiteral(Expression.Literal.newBuilder().setString(""))
    val column = Expression.Alias.newBuilder().setExpr(nowhere).addName("locationUri")
    val columns = WithColumns.newBuilder().setInput(databases.toBuilder.clearCommon()).addAliases(column)
    Relation.newBuilder().setCommon(databases.getCommon).setWithColumns(columns).build()
  }
}
