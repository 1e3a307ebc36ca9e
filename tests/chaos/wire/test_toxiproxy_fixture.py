from __future__ import annotations

import pytest

from groupproof.chaos.wire import toxiproxy_fixture
from groupproof.chaos.wire.toxiproxy_fixture import GroupproofToxiproxy, NoToxiproxy
from groupproof.harness.commands.pytest_plugin.coordinator_fixture import GroupproofCoordinator
from groupproof.harness.commands.pytest_plugin.group_fixture import GroupproofGroup
from groupproof.protocol.toxics import UPSTREAM

pytest_plugins = ["pytester"]


def test_clients_go_through_the_proxy_and_feel_what_it_does(
    groupproof_toxiproxy: GroupproofToxiproxy, groupproof_coordinator: GroupproofCoordinator, groupproof_group: GroupproofGroup
) -> None:
    assert groupproof_toxiproxy.bootstrap == groupproof_coordinator.bootstrap
    groupproof_group.add("a", session_timeout_ms=700, heartbeat_interval_ms=100)
    groupproof_group.wait_until_stable(members=1)

    with groupproof_toxiproxy.black_hole(stream=UPSTREAM), pytest.raises(AssertionError, match="did not come"):
        groupproof_coordinator.wait_for("Heartbeat", client="a", since=len(groupproof_coordinator.trace), count=2, within_s=0.4)

    groupproof_coordinator.wait_for("Heartbeat", client="a", since=len(groupproof_coordinator.trace))


def test_a_way_that_is_down_is_up_again_afterwards(groupproof_toxiproxy: GroupproofToxiproxy, groupproof_group: GroupproofGroup) -> None:
    with groupproof_toxiproxy.down():
        groupproof_group.add("a")
        with pytest.raises(AssertionError, match="nobody is in it"):
            groupproof_group.wait_until_stable(members=1, within_s=0.2)

    assert groupproof_group.wait_until_stable(members=1).members


@pytest.mark.parametrize("kind", ["latency", "bandwidth", "reset_peer", "slow_close", "slicer"])
def test_each_fault_of_the_network_comes_and_goes(groupproof_toxiproxy: GroupproofToxiproxy, groupproof_group: GroupproofGroup, kind: str) -> None:
    with getattr(groupproof_toxiproxy, kind)(50):
        groupproof_group.add("a")

    assert groupproof_group.wait_until_stable(members=1).members


def test_on_a_machine_without_one_the_error_says_what_to_do(groupproof_coordinator: GroupproofCoordinator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toxiproxy_fixture, "toxiproxy_at_hand", lambda cache: None)

    with pytest.raises(NoToxiproxy, match="put toxiproxy-server on PATH"):
        GroupproofToxiproxy.before(groupproof_coordinator)


def test_a_test_that_wants_it_is_skipped_there_with_the_reason(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toxiproxy_fixture, "toxiproxy_at_hand", lambda cache: None)
    pytester.makepyfile("def test_own(groupproof_toxiproxy): assert groupproof_toxiproxy")

    result = pytester.runpytest_inprocess("-rs", "-p", "no:randomly")

    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*no Toxiproxy is available*groupproof doctor*"])
