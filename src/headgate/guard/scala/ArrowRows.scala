package org.apache.spark.sql.connect.headgate

import java.nio.{ByteBuffer, ByteOrder}
import scala.jdk.CollectionConverters._

import org.apache.arrow.flatbuf
import org.sparkproject.connect.protobuf.{ByteString, Message}

import org.apache.spark.connect.proto.LocalRelation

/** Rows that clients send, as Arrow. What says where a text begins and ends is theirs, and Spark goes there, in the memory of
  * the server, without looking whether that is within what was sent.
  */
object ArrowRows {
  /** Why a request is not let in for the rows in it, if it is not. */
  def refusal(message: Message): Option[String] = sent(message).flatMap(wrong).nextOption()

  private def sent(message: Message): Iterator[ByteString] = message match {
    case rows: LocalRelation => Iterator(rows).filter(_.hasData).map(_.getData)
    case other => other.getAllFields.values.asScala.iterator.flatMap {
      case inner: Message => sent(inner)
      case list: java.util.List[_] => list.asScala.iterator.flatMap { case inner: Message => sent(inner); case _ => Iterator.empty }
      case _ => Iterator.empty
    }
  }

  private def wrong(rows: ByteString): Option[String] =
    try {
      new ArrowRows(rows.asReadOnlyByteBuffer).check()
      None
    } catch {
      case found: Wrong => Some(s"the rows that were sent are not valid Arrow: ${found.getMessage}")
      case _: Exception | _: StackOverflowError => Some("the rows that were sent are not valid Arrow: they cannot be read")
    }

  private class Wrong(why: String) extends Exception(why, null, false, false)

  private def must(holds: Boolean, otherwise: => String): Unit = if (!holds) throw new Wrong(otherwise)

  private val DEEPEST = 100

  /** How many values there may be, of how many bytes. Of columns of nothing there are as many as somebody says. */
  private def most(bytes: Long): Long = 64 * bytes + 1000000

  /** How the values of a column lie in its buffers. INVARIANT: what is not one of these is not let in. */
  private sealed trait Layout
  private case object Nothings extends Layout
  private case class Fixed(bits: Int) extends Layout
  private case class Texts(width: Int) extends Layout
  private case object Lists extends Layout
  private case object Structs extends Layout

  private case class Column(layout: Layout, children: Seq[Column]) {
    def all: Int = 1 + children.map(_.all).sum
  }

  private def layout(field: flatbuf.Field): Layout = field.typeType match {
    case flatbuf.Type.Null => Nothings
    case flatbuf.Type.Bool => Fixed(1)
    case flatbuf.Type.Int => whole(field.`type`(new flatbuf.Int).asInstanceOf[flatbuf.Int].bitWidth)
    case flatbuf.Type.FloatingPoint => unit(16, field.`type`(new flatbuf.FloatingPoint).asInstanceOf[flatbuf.FloatingPoint].precision, 2)
    case flatbuf.Type.Decimal => decimal(field.`type`(new flatbuf.Decimal).asInstanceOf[flatbuf.Decimal].bitWidth)
    case flatbuf.Type.Date => unit(32, field.`type`(new flatbuf.Date).asInstanceOf[flatbuf.Date].unit, 1)
    case flatbuf.Type.Time => time(field.`type`(new flatbuf.Time).asInstanceOf[flatbuf.Time])
    case flatbuf.Type.Timestamp | flatbuf.Type.Duration => Fixed(64)
    case flatbuf.Type.Interval => unit(32, field.`type`(new flatbuf.Interval).asInstanceOf[flatbuf.Interval].unit, 2)
    case flatbuf.Type.Utf8 | flatbuf.Type.Binary => Texts(4)
    case flatbuf.Type.LargeUtf8 | flatbuf.Type.LargeBinary => Texts(8)
    case flatbuf.Type.List | flatbuf.Type.Map => Lists
    case flatbuf.Type.Struct_ => Structs
    case other => throw new Wrong(s"the type `${flatbuf.Type.name(other)}` is not among those that the guard understands")
  }

  private def whole(bits: Int): Layout = {
    must(Set(8, 16, 32, 64)(bits), s"there is no whole number of $bits bits")
    Fixed(bits)
  }

  private def decimal(bits: Int): Layout = {
    must(bits == 128 || bits == 256, s"there is no decimal of $bits bits")
    Fixed(bits)
  }

  /** Units are numbered such that values of each have twice the bits of those of the one before. */
  private def unit(bits: Int, number: Short, most: Int): Layout = {
    must(number >= 0 && number <= most, s"there is no unit of the number $number")
    Fixed(bits << number)
  }

  /** Arrow goes by the unit. */
  private def time(found: flatbuf.Time): Layout = {
    val bits = if (found.unit <= flatbuf.TimeUnit.MILLISECOND) 32 else 64
    must(found.bitWidth == bits, "a time of day is not as long as its unit says")
    Fixed(bits)
  }
}

/** A stream of rows, checked where it lies: on the heap, where Java itself keeps whoever reads within it.
  *
  * INVARIANT: what is let in, Arrow reads in the same way, as the frame of the stream has one form here and its metadata are
  * read by Arrow's own classes; and it is no larger in memory than what was sent, as nothing in it is told of twice.
  */
private class ArrowRows(in: ByteBuffer) {
  import ArrowRows._

  private val most = ArrowRows.most(in.remaining)
  private var values = 0L
  in.order(ByteOrder.LITTLE_ENDIAN)

  def check(): Unit = {
    val (first, rest) = message().getOrElse(throw new Wrong("there is no schema"))
    must(first.headerType == flatbuf.MessageHeader.Schema && rest.remaining == 0, "it does not begin with a schema")
    val schema = first.header(new flatbuf.Schema).asInstanceOf[flatbuf.Schema]
    val fields = new Fields(first.getByteBuffer.capacity)
    fields.beside(schema.customMetadataLength, schema.customMetadata(_))
    val columns = fields.all(schema.fieldsLength, schema.fields(_), 1)
    Iterator.continually(message()).takeWhile(_.nonEmpty).flatten.foreach { case (head, body) => batch(columns, head, body) }
  }

  /** The next message, with its body; none at the end. */
  private def message(): Option[(flatbuf.Message, ByteBuffer)] = if (!in.hasRemaining) None else {
    must(in.getInt() == -1, "a message does not begin as one")
    val length = in.getInt()
    if (length == 0) None
    else {
      val head = flatbuf.Message.getRootAsMessage(part(length))
      Some(head -> part(head.bodyLength))
    }
  }

  private def part(length: Long): ByteBuffer = {
    must(length >= 0 && length <= in.remaining, "a message is longer than what was sent")
    val found = in.slice().limit(length.toInt).slice()
    in.position(in.position() + length.toInt)
    found
  }

  private def batch(columns: Seq[Column], head: flatbuf.Message, body: ByteBuffer): Unit = {
    must(head.headerType == flatbuf.MessageHeader.RecordBatch, "there is something else among the rows")
    val rows = head.header(new flatbuf.RecordBatch).asInstanceOf[flatbuf.RecordBatch]
    must(rows.compression == null, "the rows are packed; send them as they are")
    must(rows.nodesLength == columns.map(_.all).sum, "there are not as many columns as in the schema")
    count(rows.length)
    new Batch(rows, body).check(columns)
  }

  private def count(length: Long): Unit = {
    must(length >= 0 && length <= Int.MaxValue, "a column is longer than columns can be")
    values += length
    must(values <= most, "there are more values than were sent")
  }

  /** The columns of a schema. A field can be said to be in many places, even in itself, but sent only once. */
  private class Fields(bytes: Int) {
    private var told = 0L

    def all(length: Int, field: Int => flatbuf.Field, depth: Int): Seq[Column] = {
      must(length >= 0 && depth <= DEEPEST, "the schema is nested too deeply")
      tell(4L * length)
      Vector.tabulate(length)(place => column(field(place), depth))
    }

    private def tell(more: Long): Unit = {
      told += more
      must(told <= bytes, "the schema says more than was sent")
    }

    private def column(field: flatbuf.Field, depth: Int): Column = {
      must(field.dictionary == null, "a column is told by a dictionary; send its values")
      tell(size(field.nameAsByteBuffer))
      beside(field.customMetadataLength, field.customMetadata(_))
      val found = Column(layout(field), all(field.childrenLength, field.children(_), depth + 1))
      must(fits(field, found), "a column has not the columns within it that its type has")
      found
    }

    /** What is said beside a type, unless it makes another type of it. */
    def beside(length: Int, said: Int => flatbuf.KeyValue): Unit = {
      must(length >= 0, "the schema cannot be read")
      tell(4L * length)
      (0 until length).map(said).foreach { one =>
        tell(size(one.keyAsByteBuffer) + size(one.valueAsByteBuffer))
        must(!one.key.startsWith("ARROW:extension"), "a column is of a type of somebody else's")
      }
    }

    private def size(text: ByteBuffer): Long = if (text == null) 0 else text.remaining

    private def fits(field: flatbuf.Field, column: Column): Boolean = column.layout match {
      case Structs => true
      case Lists if field.typeType == flatbuf.Type.Map => column.children.map(_.layout) == Seq(Structs) && column.children.head.children.size == 2
      case Lists => column.children.size == 1
      case _ => column.children.isEmpty
    }
  }

  /** Rows, of which each column is a node, with how many values it has, and some buffers in the body. */
  private class Batch(rows: flatbuf.RecordBatch, body: ByteBuffer) {
    private var nodes = 0
    private var buffers = 0
    private var taken = 0L
    body.order(ByteOrder.nativeOrder)

    def check(columns: Seq[Column]): Unit = {
      columns.foreach(one => alike(column(one), rows.length))
      must(buffers == rows.buffersLength, "there are not as many buffers as in the schema")
    }

    private def alike(found: Long, expected: Long): Unit = must(found == expected, "columns are not of the same length")

    /** Checks the next column, and gives its length. */
    private def column(of: Column): Long = {
      val node = rows.nodes(nodes)
      nodes += 1
      count(node.length)
      must(node.nullCount >= 0 && node.nullCount <= node.length, "a column has not as many NULLs as it says")
      if (of.layout != Nothings) present(node, buffer())
      of.layout match {
        case Nothings =>
        case Fixed(bits) => must(8L * buffer().remaining >= bits * node.length, "a column is shorter than it says")
        case Texts(width) =>
          val last = end(node.length, width)
          must(last <= buffer().remaining, "a text is not within what was sent")
        case Lists =>
          val last = end(node.length, 4)
          must(last <= column(of.children.head), "a list is not within what was sent")
        case Structs => of.children.foreach(one => alike(column(one), node.length))
      }
      node.length
    }

    /** Which values are there is said by a bit for each, or by none at all if it is the same for all. */
    private def present(node: flatbuf.FieldNode, bits: ByteBuffer): Unit = {
      val same = node.nullCount == 0 || node.nullCount == node.length
      must(8L * bits.remaining >= node.length || (!bits.hasRemaining && same), "a column has not as many NULLs as it says")
    }

    /** Where the last of so many texts or lists ends. None of them ends before it begins, and the first begins at the earliest. */
    private def end(length: Long, width: Int): Long = {
      val offsets = buffer()
      if (length == 0) 0
      else {
        must(offsets.remaining >= (length + 1) * width, "a column is shorter than it says")
        var last = 0L
        var place = 0
        while (place <= length) {
          val next = if (width == 4) offsets.getInt(place * 4) else offsets.getLong(place * 8)
          must(next >= last, "a text or a list is not within what was sent")
          last = next
          place += 1
        }
        last
      }
    }

    private def buffer(): ByteBuffer = {
      must(buffers < rows.buffersLength, "there are not as many buffers as in the schema")
      val found = rows.buffers(buffers)
      buffers += 1
      val within = found.offset >= 0 && found.length >= 0 && found.length <= body.capacity - found.offset
      must(within, "a buffer is not within what was sent")
      taken += found.length
      must(taken <= body.capacity, "buffers share what was sent")
      body.slice(found.offset.toInt, found.length.toInt).order(ByteOrder.nativeOrder)
    }
  }
}
