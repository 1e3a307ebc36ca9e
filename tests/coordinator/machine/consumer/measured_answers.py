"""What brokers were measured to answer, step by step, and how an answer of the machine is held against it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["RELEASES", "Observed", "assignment_of", "measured"]

_HERE = Path(__file__).parent
RELEASES = ("4.0.2", "4.1.1", "4.2.2", "4.3.1", "4.4.0")
"""The columns of the measured answers; a release that is measured later is one more."""


def measured() -> Mapping[str, Mapping[str, str]]:
    """Return what each step was answered, by step and release."""
    head, *lines = (_HERE / "measured_answers.tsv").read_text().splitlines()
    releases = head.split("\t")[2:]
    table: dict[str, Mapping[str, str]] = {}
    for line in lines:
        step, _, *answers = line.split("\t")
        for index, answer in enumerate(answers):
            answers[index] = answers[index - 1] if answer == "=" else answer
        table[step] = dict(zip(releases, answers, strict=True))
    return table


@dataclass(slots=True)
class Observed:
    """What the machine answered to one step; `epoch` is relative to the epoch of the group's first join, None where nothing was said of it."""

    code: int | None = None
    epoch: int | None = None
    assignment: Mapping[str, tuple[int, ...]] | None = None
    tells_assignment: bool = False
    state: str | None = None
    bumps: int | None = None
    targets: Mapping[str, Any] | None = None
    offsets: Any = None
    listed: Any = None
    count: int | None = None
    up: str | None = None
    types: Any = None
    leader: str | None = None

    def differs(self, answer: str) -> str:
        """Return what of the measured answer is otherwise here, empty where nothing is."""
        return "; ".join(f"{name}: measured {wanted}, here {own}" for name, wanted, own in self._compared(answer) if wanted != own)

    def _compared(self, answer: str) -> Iterator[tuple[str, Any, Any]]:
        if (found := re.search(r"\be(?:\+(\d+))?(?= |$)", answer)) and self.code == 0 and self.epoch is not None:
            yield "epoch", int(found[1] or 0), self.epoch
        if (found := re.search(r"asg ((?:[\w]+\[[\d,]*\] ?)+|null|\[\])", answer)) and self.tells_assignment:
            yield "assignment", assignment_of(found[1].strip()), self.assignment
        if "{" in answer and self.targets is not None:
            yield "targets", _targets(answer), self.targets
        for name, pattern, read, own in self._words():
            if own is not None and (found := re.search(pattern, answer)):
                yield name, read(found[1]), own

    def _words(self) -> Iterator[tuple[str, str, Callable[[str], Any], Any]]:
        """Yield what is said in one word each: its name, where it stands in a measured answer, how to read it, and what was observed here."""
        yield "code", r"^(-?\d+)\b", int, self.code
        yield "epoch", r"epoch (-\d)", int, self.epoch
        yield "state", r"state (\w+)", str, self.state
        yield "bumps", r"bumps (\d+)", int, self.bumps
        yield "offsets", r"(\[\[.*\]\])$", _plain, self.offsets
        yield "listed", r"(\[.*\])$", str, self.listed
        yield "members", r"nmem (\d+)", int, self.count
        yield "up", r"up (-?\w+)", str, self.up
        yield "types", r"types (\[.*\])$", json.loads, self.types
        yield "leader", r"leader (\w+)", str, self.leader


def assignment_of(text: str) -> Mapping[str, tuple[int, ...]] | None:
    if text == "null":
        return None
    parts = re.findall(r"(\w+)\[([\d,]*)\]", text)
    return {topic: tuple(map(int, indexes.split(","))) for topic, indexes in parts if indexes}


def _plain(text: str) -> Any:
    return json.loads(re.sub(r"([a-z]\w*)", r'"\1"', text))


def _targets(answer: str) -> Mapping[str, Any]:
    found = re.search(r"\{.*\}", answer)
    assert found is not None, f"no targets in {answer}"
    named: Mapping[str, Any] = json.loads(re.sub(r"([A-Za-z_]\w*)", r'"\1"', found[0]))
    return {member: {topic: tuple(indexes) for topic, indexes in topics} for member, topics in named.items()}
