from __future__ import annotations

from collections.abc import Callable

from tests.harness.running.shim_check.faults_of_shims import Body, Lines, Plain, ShimFault, run_faulty

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.running.shim_check.exercise_setup import ExerciseSetup
from groupproof.harness.running.shim_check.shim_check import ShimCheck
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.harness.subjects.networks.virtual_time import run_virtually
from groupproof.protocol.trace import Recorder


def problems_of(part: Callable[[ExerciseSetup], None]) -> list[str]:
    """Return the problems that a part of the check reports."""
    problems: list[str] = []

    async def main() -> None:
        cluster = Cluster(recorder=Recorder(lambda: 0))
        part(
            ExerciseSetup(
                cluster, MemoryNetwork(), "broker-1:9092", is_virtual=True, say=lambda _: None, problem=problems.append, theirs=lambda _: None
            )
        )

    run_virtually(main, seed=1)
    return problems


def test_what_does_not_hold_is_a_problem_and_speaks_against_the_shims_word() -> None:
    def part(setup: ExerciseSetup) -> None:
        setup.expect("it did not go on", holds=False, word="resume")
        setup.expect("it said nothing", holds=True, word="unsubscribe")
        setup.expect("it is late", holds=False)
        assert setup.tried == {"resume", "unsubscribe"}
        assert setup.refuted == {"resume": "it did not go on"}

    assert problems_of(part) == ["it did not go on", "it is late"]


def test_a_word_can_be_refuted_without_a_problem_of_its_own_and_keeps_its_first_reason() -> None:
    def part(setup: ExerciseSetup) -> None:
        setup.believe("resume", "the first", holds=False)
        setup.believe("resume", "the second", holds=False)
        setup.believe("resume", "", holds=True)
        assert setup.refuted == {"resume": "the first"}

    assert problems_of(part) == []


class HasItsOwnAssignor(Plain):
    """A client such as afkak or samsa, with an assignor that the reference member of the check does not offer; its shim says so."""

    def heard(self, command: Body) -> Body:
        return command | {"assignors": ["roundrobin"]} if "assignors" in command else command

    def lines_of(self, body: Body) -> Lines:
        if body.get("name") == "hello":
            return [body | {"capabilities": ["classic", "multi"]}]
        return [body | {"ignored": [*body["ignored"], "assignors"]}] if self.command_of(body) == "subscribe" else [body]


def test_a_client_that_shares_its_group_with_no_other_is_checked_to_the_end_and_its_shim_has_no_problem() -> None:
    lines: list[str] = []
    check = ShimCheck(run_faulty(ShimFault(name="own assignor", make=HasItsOwnAssignor, problem="")), say=lines.append)

    assert check.run() == []
    assert set(check.theirs) == {
        "the reference member cannot join its group, because it has none of the client's assignors (roundrobin): no rebalance was tried"
    }
    assert {"tried: a slow join", "tried: SIGTERM"} <= set(lines)
    assert "tried: rebalances and their callbacks" not in lines
