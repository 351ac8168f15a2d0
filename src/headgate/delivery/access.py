"""What a user asks for: a stream, what to do with it, and a query of their own; and the XACML request that says it.

Who asks comes from the session that authenticated them, never from the request: an XACML document that names another
subject, or roles that the user does not have, is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headgate.algebra.operators import Operator
from headgate.algebra.spelling.cql import parse_cql
from headgate.algebra.spelling.user_query_xml import parse_user_query_xml
from headgate.decision.exacml.vocabulary import ACTION_ID, ENVIRONMENT_NAME, PROFILE, SUBJECT_ID, SUBJECT_ROLE
from headgate.decision.xacml.datatypes import DOUBLE, INTEGER
from headgate.decision.xacml.identifiers import ACCESS_SUBJECT, ACTION, ENVIRONMENT, RESOURCE, RESOURCE_ID
from headgate.decision.xacml.request import RawValue, Request, build_request, raw_value
from headgate.errors import InputError
from headgate.model.schema import StreamCatalog
from headgate.model.subject import ProfileValue, User


@dataclass(frozen=True)
class AccessRequest:
    """One request. `query` is CQL, or the XML of a user query (figure 4(a)); None asks for all that is authorised."""

    user: User
    stream: str
    query: str | None = None
    action: str = "read"
    environment: Mapping[str, ProfileValue] = field(default_factory=dict, hash=False)

    @classmethod
    def from_document(cls, user: User, request: Request, query: str | None = None) -> AccessRequest:
        """The request that a XACML document makes on behalf of the authenticated user."""
        named = {
            (group.category, attribute.attribute_id): [value.text for value in attribute.values]
            for group in request.attributes
            for attribute in group.attributes
        }
        _require(named.pop((ACCESS_SUBJECT, SUBJECT_ID), [user.id]) == [user.id], "another subject")
        _require(set(named.pop((ACCESS_SUBJECT, SUBJECT_ROLE), [])) <= user.roles, "a role that the user does not have")
        stream = _one(named.pop((RESOURCE, RESOURCE_ID), []), "resource-id")
        action = _one(named.pop((ACTION, ACTION_ID), ["read"]), "action-id")
        for category, attribute_id in named:
            # What the session does not vouch for could open a policy that trusts it.
            raise InputError(
                f"the request holds the attribute `{attribute_id}` of `{category}`",
                hint="send the stream and the action; who asks, and from where, is known from the session",
            )
        return cls(user, stream, query, action)

    def plan(self, streams: StreamCatalog) -> Operator | None:
        """The query as a plan over the streams."""
        if self.query is None:
            return None
        if self.query.lstrip().startswith("<"):
            return parse_user_query_xml(self.query, streams)
        return parse_cql(self.query, streams)

    def document(self, stream: str) -> Request:
        """The request as the decision point gets it, with the stream's own name."""
        subject: dict[str, object] = {SUBJECT_ID: self.user.id}
        if self.user.roles:
            subject[SUBJECT_ROLE] = sorted(self.user.roles)
        subject |= _typed_by_name(PROFILE, self.user.profile)
        return build_request(
            {
                ACCESS_SUBJECT: subject,
                RESOURCE: {RESOURCE_ID: stream},
                ACTION: {ACTION_ID: self.action},
                ENVIRONMENT: _typed_by_name(ENVIRONMENT_NAME, self.environment),
            },
            return_policy_ids=True,
        )


def typed(value: ProfileValue) -> Sequence[RawValue]:
    """A value of a profile in each type of XACML that holds it: to a profile 7 and 7.0 are the same number."""
    found = [raw_value(value)]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 1 << 53:
        found.append(RawValue(DOUBLE.uri, DOUBLE.format(float(value))))
    elif isinstance(value, float) and value.is_integer():
        found.append(RawValue(INTEGER.uri, str(int(value))))
    return found


def _typed_by_name(prefix: str, values: Mapping[str, ProfileValue]) -> dict[str, object]:
    return {f"{prefix}{name}": typed(value) for name, value in values.items() if value is not None}


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise InputError(f"the request names {what}", hint="leave the subject out: it is known from the session")


def _one(values: list[str], name: str) -> str:
    if len(values) != 1:
        raise InputError(f"the request has {len(values)} values of `{name}`", hint="name exactly one")
    return values[0]
