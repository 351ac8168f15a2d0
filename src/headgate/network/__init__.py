"""Many queries, one graph: shared operators, and the privacy switches that guard them."""

from headgate.network.change import with_query, without_query
from headgate.network.classes import AuthorisationClass, classes_of
from headgate.network.cost import CostModel, cost, place_shields, worth_materialising
from headgate.network.document import to_document
from headgate.network.explain import explain_network
from headgate.network.graph import Network
from headgate.network.markup import to_dot, to_mermaid
from headgate.network.merge import MergedNetwork, merge, merge_groups
from headgate.network.placement import Switch, SwitchType, place_switches
from headgate.network.prefix import common_prefixes, is_common_prefix, is_shared, shared_vertices
from headgate.network.pruning import Pruner
from headgate.network.restore import restore_switches
from headgate.network.svg import to_svg
from headgate.network.switch import SwitchPunctuation, SwitchState
from headgate.network.vertex import Edge, Kind, Vertex
from headgate.network.view import NetworkView, view_network

__all__ = [
    "AuthorisationClass",
    "CostModel",
    "Edge",
    "Kind",
    "MergedNetwork",
    "Network",
    "NetworkView",
    "Pruner",
    "Switch",
    "SwitchPunctuation",
    "SwitchState",
    "SwitchType",
    "Vertex",
    "classes_of",
    "common_prefixes",
    "cost",
    "explain_network",
    "is_common_prefix",
    "is_shared",
    "merge",
    "merge_groups",
    "place_shields",
    "place_switches",
    "restore_switches",
    "shared_vertices",
    "to_document",
    "to_dot",
    "to_mermaid",
    "to_svg",
    "view_network",
    "with_query",
    "without_query",
    "worth_materialising",
]
