package org.apache.spark.sql.headgate

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen._
import org.apache.spark.sql.catalyst.expressions.codegen.Block._
import org.apache.spark.sql.catalyst.expressions.objects.LambdaVariable
import org.apache.spark.sql.catalyst.trees.TreePattern
import org.apache.spark.sql.catalyst.trees.TreePattern.TreePattern
import org.apache.spark.sql.types.DataType

/** A value, NULL where the policies do not cover it; where `allowed` speaks of the value itself, it is a variable.
  *
  * It says what `if(allowed(x), x, null)` says and names `x` once. Spark's generated code reads a column that is named
  * twice for every row, and one that is named once only for the rows that get as far as to need it.
  */
case class Cell(child: Expression, allowed: Expression) extends Expression {
  override def children: Seq[Expression] = Seq(child, allowed)
  override def dataType: DataType = child.dataType
  override def nullable: Boolean = true
  override val nodePatterns: Seq[TreePattern] = Seq(Cells.PATTERN)

  /** Which variable it is makes no difference: scans alike are still shared. */
  override lazy val canonicalized: Expression =
    Cell(child.canonicalized, allowed.transform { case one: LambdaVariable => one.copy(name = "cell", id = 0) }.canonicalized)

  override def eval(input: InternalRow): Any = {
    val value = child.eval(input)
    if (value != null && allowed.transform { case _: LambdaVariable => Literal(value, dataType) }.eval(input) == true) value else null
  }

  override protected def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val value = child.genCode(ctx)
    val kind = CodeGenerator.javaType(dataType)
    val itself = LambdaVariable(ctx.freshName("cell"), dataType, nullable = true, 0)
    val named = itself.genCode(ctx)
    // Where code is split into methods, their variables are fields; elsewhere they stay where they are quick.
    val split = ctx.currentVars == null
    if (split) {
      ctx.addMutableState("boolean", named.isNull.code, forceInline = true, useFreshName = false)
      ctx.addMutableState(kind, named.value.code, forceInline = true, useFreshName = false)
    }
    val condition = allowed.transform { case _: LambdaVariable => itself }.genCode(ctx)
    ev.copy(code = code"""
      ${value.code}
      ${if (split) "" else "boolean"} ${named.isNull} = ${value.isNull};
      ${if (split) "" else kind} ${named.value} = ${value.value};
      boolean ${ev.isNull} = true;
      $kind ${ev.value} = ${CodeGenerator.defaultValue(dataType)};
      if (!${named.isNull}) {
        ${condition.code}
        if (!${condition.isNull} && ${condition.value}) {
          ${ev.isNull} = false;
          ${ev.value} = ${named.value};
        }
      }
    """)
  }

  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): Cell = Cell(newChildren(0), newChildren(1))
}

object Cells {
  /** Spark knows its trees by kinds of nodes that are in them, and has none for cells: they go as what they contain. */
  val PATTERN: TreePattern = TreePattern.LAMBDA_VARIABLE

  /** The value where the condition holds; what is there elsewhere, if anything is. */
  def guarded(condition: Expression, value: Expression, otherwise: Expression): Expression = (value, otherwise) match {
    // What is not compiled into code would not find the variable there.
    case (column: Attribute, Literal(null, _)) if condition.exists(_.isInstanceOf[CodegenFallback]) => Cell(column, condition)
    case (column: Attribute, Literal(null, _)) =>
      val itself = LambdaVariable("cell", column.dataType, nullable = true)
      Cell(column, condition.transform { case one: Attribute if one.exprId == column.exprId => itself })
    case _ => If(condition, value, otherwise)
  }

  /** The raw column behind a guarded cell, and the condition under which it is there. */
  def unapply(cell: Cell): Option[(Attribute, Expression)] = cell match {
    case Cell(raw: Attribute, allowed) => Some(raw -> allowed.transform { case _: LambdaVariable => raw })
    case _ => None
  }
}
