package org.apache.spark.sql.connect.headgate

import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.HexFormat

/** Whose token is it? Told in here, because who asks Python takes a thread and a connection, and a stranger gets neither. */
object Tokens {
  private case class Book(digests: Seq[(Array[Byte], String)], users: Set[String])

  @volatile private var book = Book(Nil, Set.empty)

  /** Puts tokens in force, and no others, with the names of all users. Each entry has the SHA-256 of a token in hexadecimal,
    * and behind a space its user.
    */
  def start(entries: Array[String], users: Array[String]): Unit = {
    val digests = entries.toSeq.map(_.split(" ", 2)).map { case Array(digest, user) => HexFormat.of().parseHex(digest) -> user }
    book = Book(digests, users.toSet)
  }

  /** All are compared, also when one agrees, and each as a whole: the time it takes tells nothing of them. */
  def user(token: String): Option[String] = {
    val given = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8))
    book.digests.filter { case (digest, _) => MessageDigest.isEqual(digest, given) }.map(_._2).headOption
  }

  /** Whether somebody of this name is a user, with a token or without. */
  def knows(user: String): Boolean = book.users(user)
}
