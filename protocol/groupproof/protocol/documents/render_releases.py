"""The releases and their changes, as a document: by adjacent pair, from the resolved tables, with the KIPs and issues of the deltas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from groupproof.protocol.documents.markdown import generated, table
from groupproof.protocol.rules.profiles import Profile, neighbours, profile, profiles
from groupproof.protocol.rules.release_contrast import ReleaseDiff, contrast
from groupproof.protocol.rules.verification import verification

__all__ = ["releases_markdown"]

_HEAD: Final = """\
# Releases, and what differs between them

A profile is the table of one release. All of them are read in Apache Kafka's sources at the release's tag; *verified* is what was also compared, answer by answer, with a broker of that release. What lies between two
neighbours stands below, the newest pair first: what came, then every difference of the resolved tables. `groupproof explain --profile A --against B` tells the same of any two.
"""


def releases_markdown() -> str:
    """Return the list of the releases, then the differences of each adjacent pair."""
    lines = [generated("the tables in protocol/…/rules/"), "", _HEAD, *table(("profile", "release", "state"), map(_profile, reversed(profiles())))]
    for older, newer in ((profile(one), profile(other)) for one, other in reversed(neighbours())):
        lines += [f"## {older.name} to {newer.name}", "", *_came(older, newer), *_differences(contrast(older, newer))]
    return "\n".join(lines).rstrip() + "\n"


def _profile(name: str) -> tuple[str, ...]:
    compared = verification(name)
    state = "read in the sources" if compared is None else f"verified with {compared.release}: {compared.steps} steps, {compared.date}"
    return (name, ".".join(map(str, profile(name).release)), state)


def _came(older: Profile, newer: Profile) -> Iterator[str]:
    """Yield the changes after `older` up to `newer`, in the words of the deltas."""
    deltas = [item for item in (delta for dialect in newer.dialects for delta in dialect.deltas) if item.line in (None, older.line)]
    brought = sorted((delta for delta in deltas if older.release < delta.since <= newer.release), key=lambda delta: delta.since)
    yield from (f"- {'.'.join(map(str, delta.since))}: {delta.change}." for delta in brought)
    yield from ("",) * bool(brought)


def _differences(found: ReleaseDiff) -> Iterator[str]:
    if not found:
        yield from ("No difference that the tables know of.", "")
    if found.behaviour:
        yield from table(("difference", "where"), ((difference.says, "; ".join(difference.rules)) for difference in found.behaviour))
    for title, lines in (("Fields of answers", found.fields), ("Default settings", found.settings), ("API versions", found.versions)):
        if lines:
            yield from (f"{title} ({found.one} | {found.other}):", "", *(f"- {line}" for line in lines), "")
