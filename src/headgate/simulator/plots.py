"""Plots like figures 8 and 9 of the paper, as PNG.

Matplotlib is imported when a plot is drawn: simulating works without it, and worker processes start faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log2
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.errors import InputError
from headgate.simulator.results import PointResult
from headgate.simulator.tables import name_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 150
_NO_SHARING, _SHARED, _SWITCHES = "#8c96a3", "#2b5d8a", "#2e8b57"
_BY_LOST = (
    ("#2e8b57",),
    ("#f0cf86", "#e3b04b", "#c9932a"),
    ("#eba25c", "#d9822b", "#b5661a"),
    ("#b03a2e",),
)
"""Shades for the losses of none, one, two and more queries."""


def draw_figure8(results: Sequence[PointResult], path: Path) -> None:
    """Execution time by degree of sharing, one panel per size of network, on a scale of powers of two."""
    shapes = sorted({(it.point.parameters.operators, it.point.parameters.queries) for it in results})
    figure = _new_figure(5.4 * len(shapes), 4.4)
    axes = figure.subplots(1, len(shapes), sharey=True, squeeze=False)[0]
    for axis, (operators, queries) in zip(axes, shapes, strict=True):
        mine = [it for it in results if it.point.parameters.operators == operators]
        series = (
            ("no sharing", _NO_SHARING, [it.milliseconds(it.totals.no_sharing) for it in mine]),
            ("shared, post-filtering", _SHARED, [it.milliseconds(it.totals.shared) for it in mine]),
            (
                "shared, privacy switches",
                _SWITCHES,
                [it.milliseconds(it.totals.shared + it.totals.punctuations) for it in mine],
            ),
        )
        _bars(axis, [f"{it.point.parameters.sharing} %" for it in mine], series)
        axis.set_yscale("log", base=2)
        axis.set_title(f"{operators} operators, {queries} queries", fontsize=11)
        axis.set_xlabel("degree of sharing")
    axes[0].set_ylabel("time for 1,000 tuples, ms (powers of two)")
    axes[0].set_ylim(bottom=2 ** (floor(log2(min(it.milliseconds(it.totals.shared) for it in results))) - 1))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    _save(figure, path)


def draw_figure9(results: Sequence[PointResult], path: Path) -> None:
    """Execution time by degree of sharing and by which queries are lost."""
    figure = _new_figure(10.8, 4.8)
    axis = figure.subplots()
    series = [("no switches", _SHARED, [it.milliseconds(it.totals.shared) for it in results])]
    losses = results[0].point.losses
    for number, loss in enumerate(losses):
        times = [it.milliseconds(it.totals.starved[number] + it.totals.punctuations) for it in results]
        shades = _BY_LOST[min(len(loss), len(_BY_LOST) - 1)]
        place = sum(len(other) == len(loss) for other in losses[:number])
        series.append((f"switches, lost: {name_loss(loss)}", shades[place % len(shades)], times))
    _bars(axis, [f"{it.point.parameters.sharing} %" for it in results], series)
    asked = results[0].point.parameters
    axis.set_title(f"{asked.operators} operators, {asked.queries} queries, {asked.streams} streams", fontsize=11)
    axis.set_xlabel("degree of sharing")
    axis.set_ylabel("time for 1,000 tuples, ms")
    figure.legend(loc="outside right center", frameon=False, fontsize=9)
    _save(figure, path)


def _new_figure(width: float, height: float) -> Figure:
    """A figure without a window system and without global state."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise InputError("plots need matplotlib, which is not installed", hint="install `matplotlib`") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _bars(axis: Axes, groups: Sequence[str], series: Sequence[tuple[str, str, list[float]]]) -> None:
    """Groups of bars; bars of one colour that stand side by side are told apart by a white edge."""
    width = 0.84 / len(series)
    for place, (label, colour, heights) in enumerate(series):
        left = [group - 0.42 + (place + 0.5) * width for group in range(len(groups))]
        axis.bar(left, heights, width, label=label, color=colour, edgecolor="white", linewidth=0.6)
    axis.set_xticks(range(len(groups)), groups)
    axis.grid(axis="y", color="#dddddd", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)


def _save(figure: Figure, path: Path) -> None:
    figure.savefig(path, dpi=_DPI, metadata={"Software": None})
