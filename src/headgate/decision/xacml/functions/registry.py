"""All functions by identifier. What is not here is unknown, and a policy that names it is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from headgate.decision.xacml.functions.arithmetic import arithmetic_functions
from headgate.decision.xacml.functions.bags import bag_functions, set_functions
from headgate.decision.xacml.functions.dates import date_functions
from headgate.decision.xacml.functions.equality import equality_functions, order_functions
from headgate.decision.xacml.functions.function import Function
from headgate.decision.xacml.functions.logic import logic_functions
from headgate.decision.xacml.functions.matching import matching_functions
from headgate.decision.xacml.functions.text import conversion_functions, text_functions
from headgate.decision.xacml.functions.xpath import xpath_functions

_FAMILIES = (
    equality_functions,
    order_functions,
    arithmetic_functions,
    text_functions,
    conversion_functions,
    logic_functions,
    date_functions,
    bag_functions,
    set_functions,
    matching_functions,
    xpath_functions,
)

FUNCTIONS: Final[Mapping[str, Function]] = {function.uri: function for family in _FAMILIES for function in family()}
