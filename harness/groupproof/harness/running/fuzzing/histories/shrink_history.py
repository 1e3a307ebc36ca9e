"""A failing history made small: steps are left out, many attempts side by side, for as long as the same divergence shows. Pure but for `attempt`.

Groups are independent, so that a round of attempts takes no longer on a live broker than its longest one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from groupproof.harness.model.script import Answered, Ask, Cut, Pass, Script, ScriptStep

__all__ = ["Attempt", "plainer", "shrunk", "size_of", "tidied", "without_parts"]

Attempt = Callable[[Sequence[Script]], Awaitable[Sequence[bool]]]
"""Tells of each script whether it still shows the divergence."""

Steps = tuple[ScriptStep, ...]


async def shrunk(script: Script, attempt: Attempt) -> Script:
    """Return the smallest script that was found to show the divergence still: shorter first, then plainer."""
    length = max(1, len(script.steps) // 2)
    while True:
        found = await _round(script, list(without_parts(script.steps, length)), attempt)
        if found is not None:
            script = found
        elif length == 1:
            break
        else:
            length //= 2
    while (found := await _round(script, list(plainer(script.steps)), attempt)) is not None:
        script = found
    return script


async def _round(script: Script, candidates: list[Steps], attempt: Attempt) -> Script | None:
    """Return the smallest of the candidates that shows it, and of what all of those have in common where that shows it too; None where none does."""
    if not candidates:
        return None
    scripts = [replace(script, steps=steps) for steps in candidates]
    found = [each for each, shows in zip(scripts, await attempt(scripts), strict=True) if shows]
    if not found:
        return None
    common = [step for step in script.steps if all(step in each.steps for each in found)]
    least = replace(script, steps=tuple(tidied(common)))
    smallest = min(found, key=size_of)
    if len(found) > 1 and least.steps and size_of(least) < size_of(smallest) and (await attempt([least]))[0]:
        return least
    return smallest


def without_parts(steps: Steps, length: int) -> Iterator[Steps]:
    """Yield the steps with `length` of them left out, from every multiple of it on."""
    seen: set[str] = set()
    for start in range(0, len(steps), length):
        left = tuple(tidied(steps[:start] + steps[start + length :]))
        if left and repr(left) not in seen:
            seen.add(repr(left))
            yield left


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


def plainer(steps: Steps) -> Iterator[Steps]:
    """Yield the steps with one request put plainer: in the newest version, or with the pause that lets it be taken up."""
    for index, step in enumerate(steps):
        if isinstance(step, Ask) and step.version is not None:
            yield (*steps[:index], replace(step, version=None), *steps[index + 1 :])
        if isinstance(step, Ask) and not step.settles:
            yield (*steps[:index], replace(step, settles=True), *steps[index + 1 :])


def size_of(script: Script) -> tuple[int, int, int, int]:
    """Return what makes one script smaller than another: fewer requests, fewer steps, plainer requests, less time."""
    asks = [step for step in script.steps if isinstance(step, Ask)]
    oddities = sum(step.version is not None for step in asks) + sum(not step.settles for step in asks)
    return (len(asks), len(script.steps), oddities, sum(step.ms for step in script.steps if isinstance(step, Pass)))
