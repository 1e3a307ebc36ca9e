"""A failing history made small: steps are left out, many attempts side by side, for as long as the same divergence shows. Pure but for `attempt`.

Groups are independent, so that a round of attempts takes no longer on a live broker than its longest one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from groupproof.harness.script import Answered, Ask, Cut, Pass, Script, ScriptStep

__all__ = ["Attempt", "shrunk", "smaller", "tidied"]

Attempt = Callable[[Sequence[Script]], Awaitable[Sequence[bool]]]
"""Tells of each script whether it still shows the divergence."""

_ROUNDS_MAX: Final = 60


async def shrunk(script: Script, attempt: Attempt) -> Script:
    """Return the smallest script that was found to show the divergence still."""
    for _ in range(_ROUNDS_MAX):
        candidates = list(smaller(script))
        if not candidates:
            break
        shows = await attempt(candidates)
        found = [candidate for candidate, does in zip(candidates, shows, strict=True) if does]
        if not found:
            break
        script = min(found, key=_size)
    return script


def smaller(script: Script) -> Iterator[Script]:
    """Yield scripts with steps left out, large parts first, and each step alone; then those whose requests are put plainer."""
    steps, seen = script.steps, set[str]()
    length = len(steps)
    while length > 0:
        for start in range(0, len(steps), length):
            left = tidied(steps[:start] + steps[start + length :])
            if left and repr(left) not in seen:
                seen.add(repr(left))
                yield replace(script, steps=tuple(left))
        length //= 2
    yield from (replace(script, steps=plainer) for plainer in _plainer(steps))


def tidied(steps: Sequence[ScriptStep]) -> list[ScriptStep]:
    """Return the steps without those that refer to what is gone: waits for requests that are not sent, cuts of connections that nobody opened."""
    asked: set[str] = set()
    opened: set[str] = set()
    left: list[ScriptStep] = []
    for step in steps:
        if isinstance(step, Ask):
            asked.add(step.label)
            opened.add(step.over or step.member)
        elif (isinstance(step, Answered) and step.label not in asked) or (isinstance(step, Cut) and step.connection not in opened):
            continue
        left.append(step)
    return left


def _plainer(steps: tuple[ScriptStep, ...]) -> Iterator[tuple[ScriptStep, ...]]:
    for index, step in enumerate(steps):
        if isinstance(step, Ask) and step.version is not None:
            yield (*steps[:index], replace(step, version=None), *steps[index + 1 :])
        if isinstance(step, Ask) and not step.settles:
            yield (*steps[:index], replace(step, settles=True), *steps[index + 1 :])


def _size(script: Script) -> tuple[int, int, int, int]:
    asks = [step for step in script.steps if isinstance(step, Ask)]
    oddities = sum(step.version is not None for step in asks) + sum(not step.settles for step in asks)
    return (len(asks), len(script.steps), oddities, sum(step.ms for step in script.steps if isinstance(step, Pass)))
