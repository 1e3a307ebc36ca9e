from __future__ import annotations

from collections.abc import Sequence

import trio

from groupproof.harness.model.script import Ask, AwaitAnswer, Cut, DeleteTopic, GrowTopic, Pass, Script
from groupproof.harness.model.script_builders import beat, describe, join
from groupproof.harness.running.fuzzing.histories.shrink_history import plainer, shrunk, tidied, without_parts

SCRIPT = Script(
    steps=(
        join("m0", label="0", version=4), Pass(ms=500), describe("m0", label="1"), join("m1", label="2", settles=False),
        beat("m0", label="3"), AwaitAnswer(label="2"), Cut(connection="m1"), describe("m1", label="4"),
    )
)  # fmt: skip


def shows_with(*labels: str, tried: list[int] | None = None) -> Script:
    """Shrink to what still has all of these requests."""

    async def attempt(scripts: Sequence[Script]) -> list[bool]:
        (tried if tried is not None else []).append(len(scripts))
        return [{step.label for step in script.steps if isinstance(step, Ask)} >= set(labels) for script in scripts]

    return trio.run(shrunk, SCRIPT, attempt)


def test_what_does_not_matter_is_left_out() -> None:
    assert [step.label for step in shows_with("0", "3").steps if isinstance(step, Ask)] == ["0", "3"]
    assert len(shows_with("0", "3").steps) == 2


def test_requests_that_stay_are_put_as_plain_as_they_can_be() -> None:
    first, second = shows_with("0", "2").steps

    assert isinstance(first, Ask)
    assert first.version is None
    assert isinstance(second, Ask)
    assert second.settles


def test_attempts_go_side_by_side_in_few_rounds() -> None:
    tried: list[int] = []
    shows_with("0", tried=tried)

    assert len(tried) <= 8
    assert max(tried) <= len(SCRIPT.steps)


def test_nothing_refers_to_what_was_left_out() -> None:
    for length in (1, 2, 4):
        for steps in without_parts(SCRIPT.steps, length):
            assert tuple(tidied(steps)) == steps
            assert len(steps) < len(SCRIPT.steps)

    assert tidied([AwaitAnswer(label="2"), Cut(connection="m1"), describe("m1", label="4")]) == [describe("m1", label="4")]


def test_a_plainer_script_has_as_many_steps() -> None:
    assert [len(steps) for steps in plainer(SCRIPT.steps)] == [len(SCRIPT.steps)] * 2


def test_a_script_that_needs_all_of_its_steps_stays_as_it_is() -> None:
    async def never(scripts: Sequence[Script]) -> list[bool]:
        return [False] * len(scripts)

    assert trio.run(shrunk, SCRIPT, never) == SCRIPT


def test_a_deletion_goes_with_what_made_its_topic() -> None:
    made, gone = GrowTopic(topic="later", partitions=2), DeleteTopic(topic="later")

    assert tidied([made, gone, made, gone]) == [made, gone, made, gone]
    assert tidied([gone, made, gone, gone]) == [made, gone]
