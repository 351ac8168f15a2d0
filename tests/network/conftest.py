"""The paper's example network, shared by the tests of this folder."""

from __future__ import annotations

import pytest

from headgate.network import Kind, Network, Vertex


@pytest.fixture
def figure6() -> Network:
    """The network of figures 2 and 6 of the Privacy Switches paper: ten operators, six of which serve Q2 alone.

    The figures are not in the paper's text, so the network is put together from what the text says of it. Figure 1
    gives the queries, and each of their conditions becomes one operator:

    - CQ1 selects 6:00 < s1.timestamp < 19:00 and s2.speed < 30, joins on location, and projects.
    - CQ2 selects 8:00 < s1.timestamp < 19:00, s2.speed < 0 and s3.screentime > 5 h, joins twice on location, and
      projects.

    Section 2: the selects on timestamp are common, and a common prefix "feeds into two different operators belonging
    to the two queries". So CQ2's narrower selects on timestamp and speed are fed from CQ1's wider ones. The joins
    stay apart: figure 1 gives their windows as 5 and 10 minutes. That makes 2 shared operators, 2 of CQ1 (join,
    project) and 6 of CQ2 (two narrower selects, the select on screen time, two joins, project): the ten operators of
    section 5.3, six of which losing Q2 shuts off. A shared join would make nine, of which losing Q2 would shut off
    five.
    """
    return Network.build(
        [
            Vertex("daytime", Kind.SELECT, "6:00 < s1.timestamp < 19:00", streams=("stream1",)),
            Vertex("slow", Kind.SELECT, "s2.speed < 30", streams=("stream2",)),
            Vertex("join1", Kind.JOIN, "s1.location = s2.location [5 min]", inputs=("daytime", "slow")),
            Vertex("project1", Kind.PROJECT, "s1.streamid, s1.heartRate", inputs=("join1",)),
            Vertex("workday", Kind.SELECT, "s1.timestamp > 8:00", inputs=("daytime",)),
            Vertex("still", Kind.SELECT, "s2.speed < 0", inputs=("slow",)),
            Vertex("screen", Kind.SELECT, "s3.screentime > 5 h", streams=("stream3",)),
            Vertex("join2", Kind.JOIN, "s1.location = s2.location [10 min]", inputs=("workday", "still")),
            Vertex("join3", Kind.JOIN, "s2.location = s3.location [10 min]", inputs=("join2", "screen")),
            Vertex("project2", Kind.PROJECT, "s1.streamid, s1.heartRate", inputs=("join3",)),
        ],
        {"Q1": "project1", "Q2": "project2"},
    )
