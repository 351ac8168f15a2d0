package org.apache.spark.sql.headgate

/** What is kept in memory, when Spark plans it again.
  *
  * Spark knows what somebody keeps by its plan as it was decided on: guarded, or whole where an administrator keeps it.
  * When a part of it is let go of, whoever does that has Spark plan the rest again, in a session of theirs.
  */
object Caches {
  private val manager = "org.apache.spark.sql.execution.CacheManager"
  private val execution = "org.apache.spark.sql.execution.QueryExecution"
  private val walker = StackWalker.getInstance()

  /** Whether that is what this thread does.
    *
    * INVARIANT: such a plan was decided on before, for whoever keeps it, and only a plan that is decided on in the same way
    * finds its rows. To decide on it again for another user would put that user's rows in the place of the owner's.
    */
  def rebuilds(): Boolean =
    walker.walk(frames => frames.anyMatch(one => one.getMethodName == "recacheByCondition" && one.getClassName == manager))

  /** Whether this thread only looks for what is kept, by a plan that no frame will run. */
  def looksUp(): Boolean =
    walker.walk(frames => frames.map[String](_.getClassName).filter(name => name == manager || name == execution).findFirst()).filter(_ == manager).isPresent
}
