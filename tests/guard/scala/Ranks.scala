package headgate.tests

import org.apache.spark.graphx.Graph
import org.apache.spark.sql.Dataset
import org.apache.spark.sql.functions.col

/** PageRank by GraphX, the engine below GraphFrames, over the edges of a DataFrame: the first five nodes, as text. */
object Ranks {
  def first(edges: Dataset[_], iterations: Int): String = {
    val pairs = edges.select(col("src").cast("long"), col("dst").cast("long")).rdd.map(row => (row.getLong(0), row.getLong(1)))
    val ranks = Graph.fromEdgeTuples(pairs, 1).staticPageRank(iterations).vertices.collect()
    ranks.sortBy { case (node, rank) => (-rank, node) }.take(5).map { case (node, rank) => s"$node $rank" }.mkString("\n")
  }
}
