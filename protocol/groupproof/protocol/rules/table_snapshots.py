"""A profile's complete table as text, one row in each line. It is committed as a snapshot, so that a review shows the effect of a delta."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from groupproof.protocol.rules.cells import AnswerName, Place, Row, rule_name, state_name
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.rules.profiles import Profile, known_profiles, profile
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["SNAPSHOTS", "printed", "stale", "write"]

SNAPSHOTS: Final = Path(__file__).parent / "snapshots"
REMEDY: Final = "run: python -m groupproof.protocol.rules"


def printed(name: str) -> str:
    """Return the snapshot of a profile."""
    return "\n".join(_lines(profile(name))) + "\n"


def write(folder: Path = SNAPSHOTS) -> None:
    """Write every profile's snapshot."""
    folder.mkdir(exist_ok=True)
    for name in known_profiles():
        (folder / f"{name}.txt").write_text(printed(name))


def stale(folder: Path = SNAPSHOTS) -> list[str]:
    """Return the profiles whose committed snapshot is missing or outdated, and the snapshots without a profile."""
    committed = {path.stem: path.read_text() for path in folder.glob("*.txt")}
    return sorted({name for name in known_profiles() if committed.get(name) != printed(name)} | committed.keys() - set(known_profiles()))


def _lines(release: Profile) -> Iterator[str]:
    yield f"# {release.name}: the resolved table. Generated; {REMEDY}"
    yield "# rule | guard | answer | requirement | effects | then | after"
    for table in release.tables.values():
        if len(release.tables) > 1:
            yield from ("", f"# the dialect {table.dialect.name}")
        yield from _table(table)
    yield from (f"default {name} = {value}" for name, value in release.defaults.items())
    yield from (f"versions {api.title} {oldest}-{newest}" for api, (oldest, newest) in sorted(release.api_versions.items()))


def _table(table: Table) -> Iterator[str]:
    for kind, checks in table.before_group.items():
        yield from ("", *(_line(f"{kind.value}/before/{row.name}", row) for row in checks))
    for kind, states in table.cells.items():
        for state, cell in states.items():
            yield from ("", *(_line(rule_name(kind, state, row, table.dialect.state_prefix), row) for row in cell))
    yield ""
    yield from (
        f"unreachable {event_kind.value}/{state_name(state)}: {reason}"
        for (event_kind, state), reason in sorted(table.unreachable.items(), key=_place)
    )
    yield ""
    yield from (f"field {name} = {value}" for name, value in table.fields.items())
    yield from (
        f"append {event_kind.value} {name}" for event_kind, answers in table.appends.items() for name in sorted(map(_append, answers.items()))
    )


def _append(answer: tuple[int, int]) -> str:
    log, code = map(ErrorCode, answer)
    return f"{log.name} -> {code.value} {code.name}"


def _place(cell: tuple[Place, str]) -> tuple[str, str]:
    (kind, state), _ = cell
    return kind.value, state_name(state)


def _line(name: str, row: Row) -> str:
    effects = " ".join(effect.name for effect in row.effects) or "-"
    after = " ".join(effect.name for effect in row.after) or "-"
    then = row.then.value if row.then else "-"
    return f"{name} | {row.guard.name} | {_answer(row.answer)} | {row.requirement} | {effects} | {then} | {after}"


def _answer(answer: ErrorCode | AnswerName | None) -> str:
    if answer is None:
        return "-"
    return f"{answer.value} {answer.name}" if isinstance(answer, ErrorCode) else answer.name
