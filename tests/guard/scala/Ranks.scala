package headgate.tests

import org.apache.spark.graphx.{Edge, Graph}
import org.apache.spark.sql.{DataFrame, Dataset, Row}
import org.apache.spark.sql.functions.{col, monotonically_increasing_id, struct}
import org.apache.spark.storage.StorageLevel

/** PageRank by GraphX, the engine below GraphFrames. */
object Ranks {
  /** Over the edges of a DataFrame: the first five nodes, as text. */
  def first(edges: Dataset[_], iterations: Int): String = {
    val pairs = edges.select(col("src").cast("long"), col("dst").cast("long")).rdd.map(row => (row.getLong(0), row.getLong(1)))
    val ranks = Graph.fromEdgeTuples(pairs, 1).staticPageRank(iterations).vertices.collect()
    ranks.sortBy { case (node, rank) => (-rank, node) }.take(5).map { case (node, rank) => s"$node $rank" }.mkString("\n")
  }

  /** Over two DataFrames, the way GraphFrames goes: ids of any kind are numbered and kept in memory, rows become objects
    * of the graph engine, and what it finds becomes a DataFrame again, joined with the one that was given.
    */
  def joined(nodes: DataFrame, links: DataFrame, iterations: Int): DataFrame = {
    val numbers = nodes.select("id").repartition(col("id")).sortWithinPartitions("id")
      .withColumn("number", monotonically_increasing_id()).persist(StorageLevel.MEMORY_AND_DISK)
    val packed = nodes.select(col("id"), whole(nodes)).join(numbers, "id").select("number", "id", "all")
    val between = links.select(col("src"), col("dst"), whole(links))
      .join(packed.select(col("id").as("src"), col("number").as("from")), "src")
      .join(packed.select(col("id").as("dst"), col("number").as("to")), "dst")
    val graph = Graph(
      packed.select("number", "all").rdd.map { case Row(number: Long, all: Row) => (number, all) },
      between.select("from", "to", "all").rdd.map { case Row(from: Long, to: Long, all: Row) => Edge(from, to, all) })
    val ranks = graph.mapVertices((_, _) => ()).mapEdges(_ => ()).staticPageRank(iterations).vertices
    val found = nodes.sparkSession.createDataFrame(ranks.map { case (number, rank) => (number, Tuple1(rank)) })
    packed.drop("id").join(found.toDF("number", "found"), "number").select(col("all.*"), col("found._1").as("rank"))
  }

  private def whole(frame: DataFrame) = struct(frame.columns.map(frame(_)).toSeq: _*).as("all")
}
