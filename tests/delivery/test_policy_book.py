"""Policies in force: numbered versions, whole changes, and which requests a change can concern."""

from __future__ import annotations

import pytest
from delivery_samples import LTA, PRESS, V3, mapped, policy

from headgate.decision.xacml import DENY_OVERRIDES, ONLY_ONE_APPLICABLE, Decision, Pdp, read_policy
from headgate.delivery import AccessRequest, PolicyBook
from headgate.errors import InputError, UnknownNameError

REQUEST = AccessRequest(LTA, "weather").document("weather")
PRESS_REQUEST = AccessRequest(PRESS, "weather").document("weather")


def decided(book: PolicyBook) -> Decision:
    return book.current.pdp.decide(REQUEST).results[0].decision


def test_a_change_is_the_next_version_and_leaves_the_last_one_alone() -> None:
    book = PolicyBook([policy("a")])
    before = book.current
    change = book.change([policy("b", effect="Deny")], remove=["a"])
    assert (before.number, book.current.number, change.changed) == (0, 1, {"a", "b"})
    assert (set(before.policies), set(book.current.policies)) == ({"a"}, {"b"})
    assert decided(book) is Decision.DENY
    assert before.pdp.decide(REQUEST).results[0].decision is Decision.PERMIT


def test_the_same_id_takes_the_place() -> None:
    book = PolicyBook([policy("a")])
    book.change([policy("a", effect="Deny")])
    assert (decided(book), len(book.current.policies)) == (Decision.DENY, 1)


def test_deny_wins_over_any_number_of_permits() -> None:
    assert decided(PolicyBook([policy("a"), policy("b", effect="Deny"), policy("c")])) is Decision.DENY


def test_what_makes_no_sense_changes_nothing() -> None:
    book = PolicyBook([policy("a")])
    bad = read_policy(
        f'<Policy xmlns="{V3}core:schema:wd-17" PolicyId="bad" Version="1.0" RuleCombiningAlgId="urn:none">'
        "<Target/></Policy>"
    )
    for put, remove, error in (
        ([policy("b"), policy("b")], [], InputError),
        ([], ["b"], UnknownNameError),
        ([policy("a")], ["a"], UnknownNameError),
        ([policy("b"), bad], [], InputError),
    ):
        with pytest.raises(error):
            book.change(put, remove)
    assert (book.current.number, set(book.current.policies)) == (0, {"a"})


def test_a_change_touches_the_requests_that_a_policy_applies_to_before_or_after() -> None:
    book = PolicyBook([policy("a"), policy("b", user="press")])
    change = book.change([policy("a", mapped("rain"))])
    assert (change.touches(REQUEST), change.touches(PRESS_REQUEST)) == (True, False)
    change = book.change([policy("a", user="press")])
    assert (change.touches(REQUEST), change.touches(PRESS_REQUEST)) == (True, True)
    change = book.change(remove=["b"])
    assert (change.touches(REQUEST), change.touches(PRESS_REQUEST)) == (False, True)


def test_where_policies_hang_together_every_request_is_touched() -> None:
    book = PolicyBook([policy("a")], combining=ONLY_ONE_APPLICABLE)
    assert book.change([policy("b", user="press")]).touches(REQUEST)
    referring = read_policy(
        f'<PolicySet xmlns="{V3}core:schema:wd-17" PolicySetId="s" Version="1.0" '
        f'PolicyCombiningAlgId="{V3}policy-combining-algorithm:deny-overrides"><Target/>'
        "<PolicySet PolicySetId='t' Version='1.0' "
        f'PolicyCombiningAlgId="{V3}policy-combining-algorithm:deny-overrides"><Target/>'
        "<PolicyIdReference>b</PolicyIdReference></PolicySet></PolicySet>"
    )
    book = PolicyBook([policy("a"), referring])
    assert book.change([policy("b", user="press")]).touches(REQUEST)


def test_a_decision_point_made_like_another_decides_as_one_made_afresh() -> None:
    policies = [policy("a"), policy("b", user="press"), policy("c", effect="Deny", user="press")]
    first = Pdp(policies, combining=DENY_OVERRIDES)
    changed = [policies[0], policy("b", user="press", effect="Deny"), policies[2]]
    second = Pdp(changed, combining=DENY_OVERRIDES, like=first)
    third = Pdp(changed[:2], combining=DENY_OVERRIDES, like=second)
    for pdp, fresh in (
        (second, Pdp(changed, combining=DENY_OVERRIDES)),
        (third, Pdp(changed[:2], combining=DENY_OVERRIDES)),
    ):
        for request in (REQUEST, PRESS_REQUEST):
            assert pdp.decide(request) == fresh.decide(request)
    assert first.decide(REQUEST).results[0].decision is Decision.PERMIT


def test_what_refers_to_others_is_compiled_anew() -> None:
    referring = read_policy(
        f'<PolicySet xmlns="{V3}core:schema:wd-17" PolicySetId="s" Version="1.0" '
        f'PolicyCombiningAlgId="{V3}policy-combining-algorithm:deny-overrides"><Target/>'
        "<PolicyIdReference>a</PolicyIdReference></PolicySet>"
    )
    first = Pdp([referring], references=[policy("a")], combining=DENY_OVERRIDES)
    second = Pdp([referring], references=[policy("a", effect="Deny")], combining=DENY_OVERRIDES, like=first)
    decisions = [one.decide(REQUEST).results[0].decision for one in (first, second)]
    assert decisions == [Decision.PERMIT, Decision.DENY]
