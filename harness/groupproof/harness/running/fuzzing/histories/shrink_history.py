"""Shrinks a failing history: leaves out steps, with many attempts side by side, while the same divergence shows. Pure except for `attempt`.

Groups are independent, so that a round of attempts on a live broker takes only as long as its longest one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from groupproof.harness.model.script import Ask, AwaitAnswer, Cut, DeleteTopic, GrowTopic, Pass, Script, ScriptStep
from groupproof.harness.running.fuzzing.shrink import Attempt, shrink

__all__ = ["plainer", "shrunk", "size_of", "tidied", "without_parts"]

Steps = tuple[ScriptStep, ...]


async def shrunk(script: Script, attempt: Attempt[Script]) -> Script:
    """Return the smallest script that still shows the divergence: shorter first, then plainer."""
    shorter = [partial(_made, partial(without_parts, length=length)) for length in _halves(len(script.steps))]
    return await shrink(script, [*shorter, partial(_made, plainer)], attempt, size_of, together=_common)


def _halves(count: int) -> Iterator[int]:
    length = max(1, count // 2)
    while length:
        yield length
        length //= 2


def _made(smaller: Callable[[Steps], Iterable[Steps]], script: Script) -> Iterator[Script]:
    return (replace(script, steps=steps) for steps in smaller(script.steps))


def _common(script: Script, found: Sequence[Script]) -> Iterator[Script]:
    """Yield the script of the steps that several smaller ones have in common."""
    steps = tuple(tidied([step for step in script.steps if all(step in script.steps for script in found)]))
    if len(found) > 1 and steps:
        yield replace(script, steps=steps)


def without_parts(steps: Steps, length: int) -> Iterator[Steps]:
    """Yield the steps with `length` of them left out, starting at each multiple of it."""
    lines: set[str] = set()
    for start in range(0, len(steps), length):
        left = tuple(tidied(steps[:start] + steps[start + length :]))
        if left and repr(left) not in lines:
            lines.add(repr(left))
            yield left


def tidied(steps: Sequence[ScriptStep]) -> list[ScriptStep]:
    """Return the steps without those that refer to removed ones: waits for requests that are not sent, cuts of connections that are not opened,
    deletions of topics that do not exist."""
    asked: set[str] = set()
    opened: set[str] = set()
    made: set[str] = set()
    left: list[ScriptStep] = []
    for step in steps:
        if isinstance(step, Ask):
            asked.add(step.label)
            opened.add(step.over or step.member)
        elif isinstance(step, GrowTopic):
            made.add(step.topic)
        elif _is_lost(step, asked, opened, made):
            continue
        elif isinstance(step, DeleteTopic):
            made.discard(step.topic)
        left.append(step)
    return left


def _is_lost(step: ScriptStep, asked: set[str], opened: set[str], made: set[str]) -> bool:
    """Return whether a step refers to a thing that no step before it created."""
    match step:
        case AwaitAnswer(label=label):
            return label not in asked
        case Cut(connection=connection):
            return connection not in opened
        case DeleteTopic(topic=topic):
            return topic not in made
    return False


def plainer(steps: Steps) -> Iterator[Steps]:
    """Yield the steps with one request made plainer: at the newest version, or with the pause in which the broker can process it."""
    for index, step in enumerate(steps):
        if isinstance(step, Ask) and step.version is not None:
            yield (*steps[:index], replace(step, version=None), *steps[index + 1 :])
        if isinstance(step, Ask) and not step.settles:
            yield (*steps[:index], replace(step, settles=True), *steps[index + 1 :])


def size_of(script: Script) -> tuple[int, int, int, int]:
    """Return the size of a script for comparison: fewer requests, then fewer steps, plainer requests, less time."""
    asks = [step for step in script.steps if isinstance(step, Ask)]
    deviations = sum(step.version is not None for step in asks) + sum(not step.settles for step in asks)
    return (len(asks), len(script.steps), deviations, sum(step.ms for step in script.steps if isinstance(step, Pass)))
