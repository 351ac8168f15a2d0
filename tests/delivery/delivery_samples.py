"""A weather stream, policies with obligations, and a framework around the reference engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from headgate.decision.xacml import Policy, read_policy
from headgate.delivery import AccessRequest, Answer, Duties, EnforcementPoint, PolicyBook, Proxy, ReferenceEngine
from headgate.model.datatype import DataType
from headgate.model.element import Tuple
from headgate.model.instant import SECOND
from headgate.model.schema import Column, StreamCatalog, StreamSchema
from headgate.model.subject import User

V1 = "urn:oasis:names:tc:xacml:1.0:"
V2 = "urn:oasis:names:tc:xacml:2.0:"
V3 = "urn:oasis:names:tc:xacml:3.0:"
SCHEMA = "http://www.w3.org/2001/XMLSchema#"
WEATHER = StreamSchema(
    "weather",
    (
        Column("ts", DataType.TIMESTAMP),
        Column("rain", DataType.INT),
        Column("wind", DataType.INT),
        Column("station", DataType.STRING),
    ),
    owner="nea",
)
TRAFFIC = StreamSchema("traffic", (Column("ts", DataType.TIMESTAMP), Column("cars", DataType.INT)))
STREAMS = StreamCatalog([WEATHER, TRAFFIC])
LTA = User("lta", frozenset(["agency"]), {"district": 7})
PRESS = User("press", frozenset(["public"]))


def policy(
    identifier: str = "p",
    *obligations: str,
    user: str | None = "lta",
    stream: str | None = "weather",
    effect: str = "Permit",
    rule: str = "",
) -> Policy:
    """A 3.0 policy of one rule for one user and one stream."""
    matches = [
        _match(f"{V1}subject-category:access-subject", f"{V1}subject:subject-id", user),
        _match(f"{V3}attribute-category:resource", f"{V1}resource:resource-id", stream),
    ]
    duties = f"<ObligationExpressions>{''.join(obligations)}</ObligationExpressions>" if obligations else ""
    found = read_policy(
        f'<Policy xmlns="{V3}core:schema:wd-17" PolicyId={quoteattr(identifier)} Version="1.0" '
        f'RuleCombiningAlgId="{V3}rule-combining-algorithm:deny-overrides"><Target>{"".join(matches)}</Target>'
        f'<Rule RuleId="r" Effect="{effect}">{rule}</Rule>{duties}</Policy>'
    )
    assert isinstance(found, Policy)
    return found


def _match(category: str, attribute: str, value: str | None) -> str:
    if value is None:
        return ""
    return (
        f'<AnyOf><AllOf><Match MatchId="{V1}function:string-equal"><AttributeValue DataType="{SCHEMA}string">'
        f'{escape(value)}</AttributeValue><AttributeDesignator Category="{category}" AttributeId="{attribute}" '
        f'DataType="{SCHEMA}string" MustBePresent="false"/></Match></AllOf></AnyOf>'
    )


def obligation(identifier: str, *assignments: tuple[str, object], on: str = "Permit") -> str:
    inner = "".join(
        f"<AttributeAssignmentExpression AttributeId={quoteattr(name)}><AttributeValue "
        f'DataType="{SCHEMA}{"integer" if isinstance(value, int) else "string"}">{escape(str(value))}'
        "</AttributeValue></AttributeAssignmentExpression>"
        for name, value in assignments
    )
    return f'<ObligationExpression ObligationId={quoteattr(identifier)} FulfillOn="{on}">{inner}</ObligationExpression>'


def filtered(*conditions: str, prefix: str = "exacml") -> str:
    name = f"{prefix}:obligation:stream-filter-condition-id"
    return obligation("exacml:obligation:stream-filter", *((name, one) for one in conditions))


def mapped(*attributes: str, prefix: str = "exacml") -> str:
    name = f"{prefix}:obligation:stream-map-attribute-id"
    return obligation("exacml:obligation:stream-map", *((name, one) for one in attributes))


def windowed(size: int, step: int, *functions: str, kind: str = "tuple", prefix: str = "exacml") -> str:
    stem = f"{prefix}:obligation:stream-window"
    return obligation(
        "exacml:obligation:stream-window",
        (f"{stem}-type-id", kind),
        (f"{stem}-size-id", size),
        (f"{stem}-step-id", step),
        *((f"{stem}-attr-id", one) for one in functions),
    )


@dataclass
class Framework:
    """Everything together."""

    engine: ReferenceEngine
    point: EnforcementPoint
    proxy: Proxy

    def ask(self, query: str | None = None, user: User = LTA, stream: str = "weather", **options) -> Answer:
        return self.point.request(AccessRequest(user, stream, query, **options))

    def rain(self, *values: int, start: int = 0, stream: str = "weather") -> None:
        """An epoch of tuples, a second apart."""
        self.engine.epoch(
            [
                (
                    stream,
                    Tuple(
                        (start + n) * SECOND,
                        ((start + n) * SECOND, one, 2 * one, "a")[: 4 if stream == "weather" else 2],
                    ),
                )
                for n, one in enumerate(values)
            ]
        )

    def rows(self, answer: Answer) -> list[dict[str, object]]:
        """All results so far, of a handle that is open."""
        self.engine.epoch([])
        assert answer.handle is not None
        return [dict(one.row) for one in answer.handle.read().rows]


def framework(*policies: Policy, duties: Duties | None = None, **options) -> Framework:
    engine = ReferenceEngine(STREAMS, live=True)
    point = EnforcementPoint(STREAMS, PolicyBook(policies), engine, duties, **options)
    return Framework(engine, point, Proxy(point))


def names(rows: Sequence[dict[str, object]], column: str) -> list[object]:
    return [row[column] for row in rows]
