package org.apache.spark.sql.connect.headgate

import java.nio.charset.StandardCharsets
import java.security.MessageDigest
import java.util.HexFormat

/** Whose token is it? Told in here, because who asks Python takes a thread and a connection, and a stranger gets neither. */
object Tokens {
  @volatile private var users: Seq[(Array[Byte], String)] = Nil

  /** Each entry has the SHA-256 of a token in hexadecimal, and behind a space the user. */
  def start(entries: Array[String]): Unit =
    users = entries.toSeq.map(_.split(" ", 2)).map { case Array(digest, user) => HexFormat.of().parseHex(digest) -> user }

  /** All are compared, also when one agrees, and each as a whole: the time it takes tells nothing of them. */
  def user(token: String): Option[String] = {
    val given = MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8))
    users.filter { case (digest, _) => MessageDigest.isEqual(digest, given) }.map(_._2).headOption
  }
}
