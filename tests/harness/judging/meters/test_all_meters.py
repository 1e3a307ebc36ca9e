"""All meters over real and simulated traces: what they tell only grows, and adds up."""

from __future__ import annotations

import pytest
from tests.harness.judging.diagnosis.recordings import recorded
from tests.harness.judging.diagnosis.test_group_diagnosis import simulated

from groupproof.harness.judging.meters.all_meters import Meters, meters_of, values_of
from groupproof.harness.judging.meters.meter import added
from groupproof.protocol.trace import Trace


def _group(name: str) -> Trace:
    return [obs for obs in recorded("4.1.0", "wire") if obs.group == name]


def test_a_member_that_was_cut_off_believes_on() -> None:
    assert meters_of(simulated(3)).result()["ownership_overlap_ms"] > 0


def test_what_is_measured_only_grows() -> None:
    meters, before = Meters(), dict[str, float]()
    for obs in simulated(5):
        meters.feed(obs)
        now = meters.figures().totals
        assert {name for name, value in before.items() if now[name] < value - 1e-6} == set()
        before = {name: value for name, value in now.items() if name != "lost_records"}  # a gap may be filled later


@pytest.mark.parametrize(("group", "rebalances"), [("heartbeat-timeout", 4), ("started-together", 1)])
def test_the_rebalances_of_a_group_are_counted(group: str, rebalances: int) -> None:
    assert meters_of(_group(group)).result()["rebalances"] == rebalances


def test_the_figures_of_groups_add_up() -> None:
    groups = [meters_of(_group(name)).figures() for name in ("closed", "poll-interval")]
    whole = values_of(added(groups))

    assert whole["rebalances"] == 3 + 4
    assert whole["requests_per_rebalance"] == pytest.approx(sum(group.totals["rebalance_requests"] for group in groups) / 7)


def test_every_figure_ends_in_its_unit_or_is_a_count() -> None:
    names = set(meters_of(simulated(3)).result())
    counts = {"rebalances", "rebalance_requests", "requests_per_rebalance", "commits", "heartbeat_answers"}

    assert {name for name in names - counts if not name.endswith("_ms")} == set()
