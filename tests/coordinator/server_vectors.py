"""The vectors of the server-side assignors in a file: groups and Kafka's results for them, written short. `python -m tests.coordinator.server_vectors JARS CLASSES` makes it anew.

JARS and CLASSES are folders with one folder for each release: Kafka's archives, and `java/ServerAssign.java` compiled against them.
A group's members and topic ids stand in lists, its events name them by their place. A result says what changed since the one before: `3: "t0=0-2,7;t1=4"`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from tests.coordinator.server_groups import RELEASES, Event, Group, drawn_groups, kafkas

__all__ = ["VECTORS", "Vector", "vectors"]

VECTORS = Path(__file__).parent / "assignors" / "server_assignor_vectors.json"
_SEED = 848
_GROUPS = 180
_OF_RELEASES = 20
"""Groups of another seed whose results differ between releases."""

Result = dict[str, str]
"""What each member is assigned, in the order of Kafka's map."""


@dataclass(frozen=True, slots=True)
class Vector:
    """A group, and what its assignor made of it in some releases."""

    releases: tuple[str, ...]
    group: Group
    results: list[Result]


def vectors() -> list[Vector]:
    """Return all vectors of the file."""
    return [_decoded(entry) for entry in json.loads(VECTORS.read_text())["groups"]]


def parsed(line: str) -> Result:
    """Return the result in a line of Kafka's."""
    return dict(part.split(":", 1) for part in line.split("|")) if line else {}


def _encoded(releases: Sequence[str], group: Group, results: Sequence[Result]) -> dict[str, Any]:
    members = list(dict.fromkeys(event[1] for event in group if event[0] in {"enter", "beat"}))
    ids = list(dict.fromkeys(event[2] for event in group if event[0] == "topic"))
    left = iter(results)
    last: Result = {}
    events: list[list[Any]] = []
    for event in group[1:]:
        short = _short(event, members, ids)
        if event[0] in {"target", "beat"}:
            result = next(left)
            order = "".join(f"{members.index(member)} " for member in result).rstrip()
            short += [order, {str(members.index(member)): _ranges(text) for member, text in result.items() if last.get(member, "") != text}]
            last = result
        events.append(short)
    return {"releases": list(releases), "assignor": group[0][1], "members": members, "ids": ids, "events": events}


def _short(event: Event, members: list[str], ids: list[str]) -> list[Any]:
    match event:
        case ("topic", name, topic_id, count):
            return ["topic", name, ids.index(topic_id), int(count)]
        case ("leave" | "enter" | "beat" as kind, member, *rest):
            return [kind, members.index(member), *rest]
        case _:
            return list(event)


def _decoded(entry: dict[str, Any]) -> Vector:
    members, ids = entry["members"], entry["ids"]
    group: Group = [("group", entry["assignor"])]
    results: list[Result] = []
    former: Result = {}
    for short in entry["events"]:
        if short[0] in {"target", "beat"}:
            *short, order, changes = short
            former |= {members[int(place)]: _numbers(text) for place, text in changes.items()}
            results.append({members[int(place)]: former.get(members[int(place)], "") for place in order.split()})
            former = dict(results[-1])
        group.append(_long(short, members, ids))
    return Vector(tuple(entry["releases"]), group, results)


def _long(short: list[Any], members: list[str], ids: list[str]) -> Event:
    match short:
        case ["topic", name, place, count]:
            return ("topic", name, ids[place], str(count))
        case ["leave" | "enter" | "beat" as kind, place, *rest]:
            return (kind, members[place], *rest)
        case _:
            return tuple(short)


def _ranges(text: str) -> str:
    """Write runs of partitions short: `t0=0,1,2,7` is `t0=0-2,7`."""
    return re.sub(r"(?<==)[\d,]+", lambda found: ",".join(_runs([int(number) for number in found[0].split(",")])), text)


def _runs(numbers: list[int]) -> Iterator[str]:
    for _, pairs in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0]):
        run = [number for _, number in pairs]
        yield f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0])


def _numbers(text: str) -> str:
    return re.sub(r"(\d+)-(\d+)(?=[,;]|$)", lambda found: ",".join(map(str, range(int(found[1]), int(found[2]) + 1))), text)


def _by_outcome(group: Group, lines: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Return a group once for each outcome, with the releases that have it."""
    outcomes: dict[tuple[str, ...], list[str]] = {}
    for release, of_release in zip(RELEASES, lines, strict=True):
        outcomes.setdefault(tuple(of_release), []).append(release)
    return [_encoded(releases, group, [parsed(line) for line in outcome]) for outcome, releases in outcomes.items()]


def main(jars: Path, classes: Path) -> None:
    """Write the file: groups of one seed, and of others those in which releases differ."""
    groups = drawn_groups(_SEED, _GROUPS)
    more = drawn_groups(_SEED + 1, 100 * _OF_RELEASES)
    by_release = [kafkas([*groups, *more], classes / release, jars / release) for release in RELEASES]
    entries = [_by_outcome(group, lines) for group, *lines in zip([*groups, *more], *by_release, strict=True)]
    differing = [entry for entry in entries[_GROUPS:] if len(entry) > 1][:_OF_RELEASES]
    kept = [item for entry in [*entries[:_GROUPS], *differing] for item in entry]
    lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in kept)
    note = "Results of Apache Kafka's own classes (tests/coordinator/java/ServerAssign.java); how to read and remake them: tests/coordinator/server_vectors.py"
    VECTORS.write_text(f'{{"note":"{note}","groups":[\n{lines}\n]}}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
