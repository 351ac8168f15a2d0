"""The published simulator of the Privacy Switches paper: random networks, its cost model, its experiments."""

from headgate.simulator.cost import PRINTED_COSTS, CostModel
from headgate.simulator.experiments import Experiment, Point, points_of
from headgate.simulator.generate import Sample, generate
from headgate.simulator.measure import Totals, measure
from headgate.simulator.parameters import Parameters
from headgate.simulator.results import Charge, PointResult, compare
from headgate.simulator.run import run_points
from headgate.simulator.write import prepare_folder, to_document, write_results

__all__ = [
    "PRINTED_COSTS",
    "Charge",
    "CostModel",
    "Experiment",
    "Parameters",
    "Point",
    "PointResult",
    "Sample",
    "Totals",
    "compare",
    "generate",
    "measure",
    "points_of",
    "prepare_folder",
    "run_points",
    "to_document",
    "write_results",
]
