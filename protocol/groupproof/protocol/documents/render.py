"""The generated documents: the requirement catalogue, its coverage, the protocol tables, the states and the releases.

`python -m groupproof.protocol.documents.render docs/spec` writes them (`make docs`). With `--check` it only lists the outdated ones.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from groupproof.protocol.documents.markdown import generated, table
from groupproof.protocol.documents.render_coverage import coverage_markdown
from groupproof.protocol.documents.render_dialects import dialect_pages, dialects_beside_classic
from groupproof.protocol.documents.render_releases import releases_markdown
from groupproof.protocol.documents.render_states import states_markdown, states_svg
from groupproof.protocol.documents.render_tables import epoch_member_markdown, group_markdown, member_markdown
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.profiles import profile
from groupproof.protocol.rules.requirements import Requirement, requirements
from groupproof.protocol.vocabulary import Level

__all__ = ["documents", "main", "requirements_markdown", "stale"]

REMEDY: Final = "run: make docs"

_COLUMNS: Final = ("id", "level", "requirement", "profiles", "source", "seen by")

_CATALOGUE_HEAD = """\
# The requirement catalogue

{count} requirements: {levels}. An id is final: it is never used again for another sentence.

**Levels.** MUST: breaking it sends an illegal frame, loses progress or membership, or permits double ownership or a stale commit. SHOULD: it costs
others, with a ghost member, a needless rebalance or a request storm. INFO: everything else. The reasons are listed [at the end](#reasons-of-the-levels).

**Sources.** *Seed* 000 to 004 are the five documents that the catalogue was made from: 000 a walk through Kafka 1.1's rebalance, 001 the group
design of DataLink, 002 the ZooKeeper consumer of Kafka 0.8, 003 the coordinator of Kafka 2.5, 004 the life of a consumer group. `[K 1.1.0]` is Apache
Kafka's source at that release, `[DL]` DataLink's. Where they contradict each other or Kafka, `DISC-01` and so on tell [what holds](../discrepancies.md).

**Seen by.** W: decoded frames; T: the trace; V: virtual time; L: log lines; F: an injected fault.

**Short forms.** PR: PreparingRebalance; CR: CompletingRebalance; JOIN, SYNC, HB, LEAVE: the requests; parked: held without an answer; a bare
number is an error code (`ERR-01` and following).
"""

_OF_A_RELEASE = """\
The tables here are those of the newest release. For another one:

| to see | look at |
| --- | --- |
| one cell | `groupproof explain SyncGroup/PreparingRebalance --profile kafka-2.4` |
| the whole table | `protocol/groupproof/protocol/rules/snapshots/kafka-2.4.txt`, one file a release |
| what differs between two releases | `groupproof explain --profile kafka-2.4 --against kafka-4.1` |
"""

_EPOCH_MEMBER: Final = f"{CONSUMER.name}-member.md"

_CONTENTS = {
    "requirements.md": "every requirement, its level and the reason for it",
    "coverage.md": "how many of them have a witness among the tests, and what is missing and why",
    "states.md": "the states of a classic group: drawn, who moves it where, what can come up in each",
    "classic-group.md": "what a coordinator answers and does, by input and state",
    "classic-member.md": "what a member does with each answer",
    _EPOCH_MEMBER: "what a member of KIP-848's protocol does with each answer",
    "releases.md": "the releases, and what differs between neighbours",
}


def documents() -> dict[str, str]:
    """Return every generated document by its file name."""
    newest = profile()
    return {
        "README.md": _contents(),
        "requirements.md": requirements_markdown(requirements()),
        "coverage.md": coverage_markdown(),
        "states.md": states_markdown(newest),
        "states.svg": states_svg(newest),
        "classic-group.md": group_markdown(newest),
        "classic-member.md": member_markdown(),
        _EPOCH_MEMBER: epoch_member_markdown(),
        **dialect_pages(),
        "releases.md": releases_markdown(),
    }


def stale(folder: Path) -> list[str]:
    """Return the names of the documents whose copy in `folder` is missing or outdated, and of the other files there."""
    made = documents()
    changed = [name for name, text in made.items() if not (folder / name).is_file() or (folder / name).read_text() != text]
    return changed + sorted(path.name for path in folder.glob("*") if path.name not in made)


def _contents() -> str:
    pages = {name: f"the same of {dialect.group_says}" for name, dialect in dialects_beside_classic().items()}
    rows = ((f"[{name}]({name})", purpose) for name, purpose in {**_CONTENTS, **pages}.items())
    return (
        "\n".join(
            [
                generated("protocol/…/rules/"),
                "",
                "# The group protocol, from the tables",
                "",
                *table(("page", "what is there"), rows),
                _OF_A_RELEASE,
            ]
        ).rstrip()
        + "\n"
    )


def requirements_markdown(catalogue: Iterable[Requirement]) -> str:
    """Return the catalogue by area and topic, then the reasons of its levels."""
    rows = list(catalogue)
    counts = Counter(row.level for row in rows)
    levels = ", ".join(f"{counts[level]} {level.value}" for level in Level)
    lines = [generated("requirements.json and levels.toml"), "", _CATALOGUE_HEAD.format(count=len(rows), levels=levels)]
    for area, of_area in groupby(rows, key=lambda row: row.area):
        lines += [f"## {area}", ""]
        for topic, of_topic in groupby(of_area, key=lambda requirement: requirement.topic):
            lines += [f"### {topic}", "", *table(_COLUMNS, map(_sentence, of_topic))]
    lines += ["## Reasons of the levels", "", *table(("requirements", "level", "because"), _reasons(rows))]
    return "\n".join(lines).rstrip() + "\n"


def _sentence(requirement: Requirement) -> tuple[str, ...]:
    text = f"{requirement.text} (Judged: {requirement.note})" if requirement.note else requirement.text
    return (requirement.id, requirement.level.value, text, ", ".join(requirement.profiles), requirement.source, requirement.observe)


def _reasons(rows: list[Requirement]) -> Iterator[tuple[str, ...]]:
    """Yield the reasons. A reason that several ids of a family share with one level is listed once, for the family."""
    for family in dict.fromkeys(row.family for row in rows):
        of_family = [row for row in rows if row.family == family]
        (level, reason), size = Counter((requirement.level, requirement.reason) for requirement in of_family).most_common(1)[0]
        if size > 1:
            yield (f"{family}-…", level.value, reason)
        yield from (
            (requirement.id, requirement.level.value, requirement.reason)
            for requirement in of_family
            if size == 1 or (requirement.level, requirement.reason) != (level, reason)
        )


def main(arguments: list[str]) -> int:
    """Write the documents into the folder, or with `--check` compare them; return the exit status."""
    check = "--check" in arguments
    folders = [Path(argument) for argument in arguments if not argument.startswith("-")]
    if len(folders) != 1:
        print("usage: python -m groupproof.protocol.documents.render [--check] FOLDER", file=sys.stderr)
        return 3
    return _compare(folders[0]) if check else _write(folders[0])


def _compare(folder: Path) -> int:
    names = stale(folder)
    for name in names:
        print(f"{folder / name} is not current; {REMEDY}")
    return 1 if names else 0


def _write(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in documents().items():
        (folder / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
