"""The proxy and its clients: the same handle for the same request, for as long as nothing has changed."""

from __future__ import annotations

import pytest
from delivery_samples import LTA, PRESS, filtered, framework, mapped, obligation, policy, windowed

from headgate.delivery import AccessRequest, Client, Proxy
from headgate.errors import InputError
from headgate.model.subject import User

QUERY = "SELECT rain FROM weather"


def test_the_same_request_gets_the_same_handle() -> None:
    system = framework(policy("p", obligation("headgate:obligation:log")))
    client = Client(system.proxy, LTA)
    first, second = client.ask("weather", QUERY), client.ask("Weather", QUERY)
    assert first is second
    assert (system.proxy.hits, system.proxy.misses, system.engine.count) == (1, 1, 1)
    assert len(system.point.duties.records) == 1


@pytest.mark.parametrize(
    "other",
    [
        AccessRequest(PRESS, "weather", QUERY),
        AccessRequest(User("lta", frozenset(["agency", "x"]), {"district": 7}), "weather", QUERY),
        AccessRequest(User("lta", frozenset(["agency"]), {"district": 8}), "weather", QUERY),
        AccessRequest(User("lta", frozenset(["agency"]), {"district": True}), "weather", QUERY),
        AccessRequest(LTA, "weather", QUERY + " WHERE rain > 1"),
        AccessRequest(LTA, "weather"),
        AccessRequest(LTA, "weather", QUERY, environment={"ip": "192.0.2.1"}),
        AccessRequest(LTA, "weather", QUERY, action="assist"),
    ],
    ids=["user", "roles", "profile", "type", "query", "no query", "environment", "action"],
)
def test_another_request_gets_another_handle(other: AccessRequest) -> None:
    proxy = framework(policy(user=None)).proxy
    first = proxy.request(AccessRequest(LTA, "weather", QUERY))
    assert proxy.request(other).uri != first.uri


def test_one_and_true_are_different_users() -> None:
    proxy = framework(policy()).proxy
    uris = {proxy.request(AccessRequest(User("lta", profile={"x": one}), "weather")).uri for one in (1, True, 1.0, "1")}
    assert len(uris) == 4


def test_another_version_of_the_policies_is_asked_again() -> None:
    system = framework(policy("p"))
    client = Client(system.proxy, LTA)
    first = client.ask("weather", QUERY)
    system.point.change_policies([policy("other", user="press")])
    second = client.ask("weather", QUERY)
    assert (first.handle.closed, first.uri == second.uri, second.version) == (None, False, 1)
    system.point.change_policies(remove=["p"])
    assert client.ask("weather", QUERY).handle is None


def test_a_closed_handle_is_not_handed_out_again() -> None:
    system = framework(policy("p"))
    client = Client(system.proxy, LTA)
    first = client.subscribe("weather", QUERY)
    first.close()
    first.close()
    second = client.subscribe("weather", QUERY)
    assert (second.uri != first.uri, first.closed, second.closed) == (True, "closed by its user", None)
    assert first.rows() == []


def test_a_refusal_is_not_kept() -> None:
    system = framework(policy("p", windowed(3, 2, "rain:sum")))
    client = Client(system.proxy, LTA)
    first = client.subscribe("weather")
    wider = "SELECT sum(rain) FROM weather [ROWS 4, SLIDE 2]"
    assert client.ask("weather", wider).handle is None
    first.close()
    assert client.ask("weather", wider).handle is not None


def test_old_handles_are_forgotten_first() -> None:
    system = framework(policy())
    proxy = Proxy(system.point, kept=2)
    queries = [f"{QUERY} WHERE rain > {n}" for n in range(3)]
    for query in (*queries, queries[2], queries[0]):
        proxy.request(AccessRequest(LTA, "weather", query))
    assert (proxy.hits, proxy.misses) == (1, 4)
    assert Proxy(system.point, kept=0).request(AccessRequest(LTA, "weather")).handle


def test_a_client_reads_on_where_it_stopped() -> None:
    system = framework(policy("p", filtered("rain > 5"), mapped("rain")))
    subscription = Client(system.proxy, LTA).subscribe("weather")
    system.rain(6, 1, 7)
    assert [one.row for one in subscription.rows()] == [{"rain": 6}, {"rain": 7}]
    assert subscription.rows() == []
    system.rain(8, start=10)
    assert [(one.number, one.row) for one in subscription.rows()] == [(3, {"rain": 8})]
    system.point.change_policies(remove=["p"])
    assert subscription.rows() == []
    assert "no policy permits" in subscription.closed


def test_a_client_that_gets_no_handle_is_told_why() -> None:
    client = Client(framework(policy("p", filtered("rain > 5"))).proxy, LTA)
    with pytest.raises(InputError, match=r"empty: .*EMPTY: no tuple") as raised:
        client.subscribe("weather", "SELECT rain FROM weather WHERE rain < 2")
    assert raised.value.hint
    with pytest.raises(InputError, match="denied: no policy permits"):
        client.subscribe("traffic")
