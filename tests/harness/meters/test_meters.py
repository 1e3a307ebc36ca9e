"""All meters over real and simulated traces: put away and carried on at any point they tell the same, and what they tell only grows."""

from __future__ import annotations

import json

import pytest
from tests.harness.diagnosis.recordings import explained, recorded
from tests.harness.diagnosis.test_explaining import simulated

from groupproof.harness.meters.meter import added
from groupproof.harness.meters.meters import METERS, Meters, meters_by_group, meters_of, values_of
from groupproof.protocol.trace import Trace


def _group(name: str) -> Trace:
    return [seen for seen in recorded("4.1.0", "wire") if seen.group == name]


@pytest.mark.parametrize("at", [0, 1, 17, 60, 200])
def test_a_fold_that_is_put_away_and_carried_on_tells_the_same(at: int) -> None:
    trace = _group("heartbeat-timeout")
    half = meters_of(trace[:at])
    resumed = Meters.resumed(json.loads(json.dumps(half.state())))
    for seen in trace[at:]:
        resumed.feed(seen)

    assert resumed.result() == meters_of(trace).result()
    assert resumed.state() == meters_of(trace).state()


def test_with_applications_too() -> None:
    trace = simulated(3)
    cut = len(trace) // 2
    resumed = Meters.resumed(json.loads(json.dumps(meters_of(trace[:cut]).state())))
    for seen in trace[cut:]:
        resumed.feed(seen)

    assert resumed.result() == meters_of(trace).result()
    assert meters_of(trace).result()["ownership_overlap_ms"] > 0, "a member that was cut off believed on"


def test_what_is_measured_only_grows() -> None:
    meters, before = Meters(), dict[str, float]()
    for seen in simulated(5):
        meters.feed(seen)
        now = meters.figures().totals
        assert {name for name, value in before.items() if now[name] < value - 1e-6} == set()
        before = {name: value for name, value in now.items() if name != "lost_records"}  # a gap may be filled later


def test_each_group_is_measured_by_itself() -> None:
    by_group = meters_by_group(recorded("4.1.0", "wire"))

    assert by_group["heartbeat-timeout"].result()["rebalances"] == 4
    assert by_group["started-together"].result()["rebalances"] == 1
    assert {group for group, meters in by_group.items() if "rebalances" in meters.result()} == {each.group for each in explained("4.1.0", "wire")}


def test_the_figures_of_groups_add_up() -> None:
    groups = [meters_of(_group(name)).figures() for name in ("closed", "poll-interval")]
    whole = values_of(added(groups))

    assert whole["rebalances"] == 3 + 4
    assert whole["requests_per_rebalance"] == pytest.approx(sum(each.totals["rebalance_requests"] for each in groups) / 7)


def test_every_figure_ends_in_its_unit_or_is_a_count() -> None:
    names = set(meters_of(simulated(3)).result())
    counts = {"rebalances", "rebalance_requests", "requests_per_rebalance", "commits", "heartbeat_answers"}

    assert {name for name in names - counts if not name.endswith("_ms")} == set()
    assert set(METERS) == set(Meters().state())
