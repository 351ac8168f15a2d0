"""The data types of XACML: how a value is read from text and written back.

A value is a bare Python object (a `str`, an `int`, a `Moment`, ...): expressions are typed once, when a policy is
compiled, so that evaluation need not look at types again. The two durations are known under their 3.0 names and
under the XQuery working-draft names of 1.x and 2.0; both denote the same type.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headgate.decision.xacml.identifiers import XACML_1, XACML_2, XACML_3
from headgate.decision.xacml.values import calendar, duration, names, network

_SCHEMA = "http://www.w3.org/2001/XMLSchema#"
_XQUERY_DRAFT = "http://www.w3.org/TR/2002/WD-xquery-operators-20020816#"
_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?", re.ASCII)
_SPACE = re.compile(r"[ \t\r\n]+")


@dataclass(frozen=True, slots=True, eq=False)
class DataType:
    """A type, its name in function identifiers and in JSON, and its two directions; each exists once."""

    uri: str
    name: str
    parse: Callable[[str], Any]
    format: Callable[[Any], str]
    keeps_space: bool = False

    def read(self, text: str) -> Any:
        """The value of a text, white space collapsed first as XML Schema asks; ValueError if there is none."""
        return self.parse(text if self.keeps_space else _SPACE.sub(" ", text).strip(" "))


@dataclass(frozen=True, slots=True)
class ValueType:
    """What an expression yields: one value of a type, or a bag of them."""

    data_type: DataType
    is_bag: bool = False

    def __str__(self) -> str:
        return f"bag of {self.data_type.name}" if self.is_bag else self.data_type.name


@dataclass(frozen=True, slots=True)
class XPathExpression:
    """A path into the content of a category, with the prefixes it may use."""

    path: str
    category: str
    namespaces: Mapping[str, str] = field(default_factory=dict, hash=False)


def _parse_boolean(text: str) -> bool:
    if text in ("true", "1"):
        return True
    if text in ("false", "0"):
        return False
    raise ValueError("not a boolean: write true or false")


def _parse_integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError("not an integer such as 42")
    return int(text)


def _parse_double(text: str) -> float:
    if text in ("INF", "+INF", "-INF", "NaN"):
        return float(text.replace("INF", "inf"))
    if not _DOUBLE.fullmatch(text):
        raise ValueError("not a double such as 2.5e3")
    return float(text)


def _format_double(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return repr(value)


def _parse_uri(text: str) -> str:
    if " " in text or any(ord(character) < 32 for character in text):
        raise ValueError("not a URI: it holds white space")
    return text


def _parse_hex(text: str) -> bytes:
    if " " in text:
        raise ValueError("not hexadecimal: it holds white space")
    return bytes.fromhex(text)


def _parse_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text.replace(" ", ""), validate=True)
    except binascii.Error as problem:
        raise ValueError("not base64") from problem


def _parse_xpath(text: str) -> XPathExpression:
    raise ValueError(f"the path `{text}` needs an XPathCategory")


STRING: Final = DataType(_SCHEMA + "string", "string", str, str, keeps_space=True)
BOOLEAN: Final = DataType(_SCHEMA + "boolean", "boolean", _parse_boolean, lambda value: "true" if value else "false")
INTEGER: Final = DataType(_SCHEMA + "integer", "integer", _parse_integer, str)
DOUBLE: Final = DataType(_SCHEMA + "double", "double", _parse_double, _format_double)
TIME: Final = DataType(_SCHEMA + "time", "time", calendar.parse_time, calendar.format_time)
DATE: Final = DataType(_SCHEMA + "date", "date", calendar.parse_date, calendar.format_date)
DATE_TIME: Final = DataType(_SCHEMA + "dateTime", "dateTime", calendar.parse_date_time, calendar.format_date_time)
ANY_URI: Final = DataType(_SCHEMA + "anyURI", "anyURI", _parse_uri, str)
HEX_BINARY: Final = DataType(_SCHEMA + "hexBinary", "hexBinary", _parse_hex, lambda value: value.hex().upper())
BASE64_BINARY: Final = DataType(
    _SCHEMA + "base64Binary", "base64Binary", _parse_base64, lambda value: base64.b64encode(value).decode()
)
DAY_TIME_DURATION: Final = DataType(
    _SCHEMA + "dayTimeDuration",
    "dayTimeDuration",
    duration.parse_day_time_duration,
    duration.format_day_time_duration,
)
YEAR_MONTH_DURATION: Final = DataType(
    _SCHEMA + "yearMonthDuration",
    "yearMonthDuration",
    duration.parse_year_month_duration,
    duration.format_year_month_duration,
)
X500_NAME: Final = DataType(XACML_1 + "data-type:x500Name", "x500Name", names.parse_x500_name, lambda value: value.text)
RFC822_NAME: Final = DataType(XACML_1 + "data-type:rfc822Name", "rfc822Name", names.parse_rfc822_name, str)
IP_ADDRESS: Final = DataType(XACML_2 + "data-type:ipAddress", "ipAddress", network.parse_ip_address, str)
DNS_NAME: Final = DataType(XACML_2 + "data-type:dnsName", "dnsName", network.parse_dns_name, str)
XPATH_EXPRESSION: Final = DataType(
    XACML_3 + "data-type:xpathExpression", "xpathExpression", _parse_xpath, lambda value: value.path
)

TYPES_WITH_EQUALITY: Final = (
    STRING,
    BOOLEAN,
    INTEGER,
    DOUBLE,
    TIME,
    DATE,
    DATE_TIME,
    ANY_URI,
    HEX_BINARY,
    BASE64_BINARY,
    DAY_TIME_DURATION,
    YEAR_MONTH_DURATION,
    X500_NAME,
    RFC822_NAME,
)
ALL_TYPES: Final = (*TYPES_WITH_EQUALITY, IP_ADDRESS, DNS_NAME, XPATH_EXPRESSION)

DATA_TYPES: Final[Mapping[str, DataType]] = {
    **{data_type.uri: data_type for data_type in ALL_TYPES},
    _XQUERY_DRAFT + "dayTimeDuration": DAY_TIME_DURATION,
    _XQUERY_DRAFT + "yearMonthDuration": YEAR_MONTH_DURATION,
}
