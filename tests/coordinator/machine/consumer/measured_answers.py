"""What brokers were measured to answer, step by step, and how an answer of the machine is held against it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
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
        if (found := re.match(r"(-?\d+)\b", answer)) and self.code is not None:
            yield "code", int(found[1]), int(self.code)
        if (found := re.search(r"\be(?:\+(\d+))?(?= |$)", answer)) and self.code == 0 and self.epoch is not None:
            yield "epoch", int(found[1] or 0), self.epoch
        if (found := re.search(r"epoch (-\d)", answer)) and self.epoch is not None:
            yield "epoch", int(found[1]), self.epoch
        if (found := re.search(r"asg ((?:[\w]+\[[\d,]*\] ?)+|null|\[\])", answer)) and self.tells_assignment:
            yield "assignment", assignment_of(found[1].strip()), self.assignment
        if (found := re.search(r"state (\w+)", answer)) and self.state is not None:
            yield "state", found[1], self.state
        if (found := re.search(r"bumps (\d+)", answer)) and self.bumps is not None:
            yield "bumps", int(found[1]), self.bumps
        if "{" in answer and self.targets is not None:
            yield "targets", _targets(answer), self.targets
        if (found := re.search(r"(\[\[.*\]\])$", answer)) and self.offsets is not None:
            yield "offsets", _plain(found[1]), self.offsets
        if (found := re.search(r"(\[.*\])$", answer)) and self.listed is not None:
            yield "listed", found[1], self.listed
        if (found := re.search(r"nmem (\d+)", answer)) and self.count is not None:
            yield "members", int(found[1]), self.count
        if (found := re.search(r"up (-?\w+)", answer)) and self.up is not None:
            yield "up", found[1], self.up
        if (found := re.search(r"types (\[.*\])$", answer)) and self.types is not None:
            yield "types", json.loads(found[1]), self.types
        if (found := re.search(r"leader (\w+)", answer)) and self.leader is not None:
            yield "leader", found[1], self.leader


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
