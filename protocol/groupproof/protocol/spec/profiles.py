"""A profile: the table of one release, with everything else that its brokers fix (versions, default settings, fields of answers)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from groupproof.protocol.spec.api_versions import API_VERSIONS, Range
from groupproof.protocol.spec.classic_group import BEFORE_GROUP, TABLE, UNREACHABLE
from groupproof.protocol.spec.defaults import DEFAULTS
from groupproof.protocol.spec.releases import COVERED, DELTAS, NEWEST_FIELDS, RELEASES, Change
from groupproof.protocol.spec.terms import On, Row, State, rule_name, state_name
from groupproof.protocol.vocabulary import Api

__all__ = ["Profile", "UnknownProfile", "api_versions", "applied", "profile", "profiles", "rows", "unreachable"]

NEWEST = "kafka-4.1"


class UnknownProfile(ValueError):
    """No profile has that name; the message lists those that exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The group protocol as one release keeps it.

    `before_group` holds the checks made before the group is looked at, `cells` the rows by input and state. `covered` are the inputs whose
    cells are this release's own; those of the others are still the newest release's.
    """

    name: str
    release: tuple[int, ...]
    before_group: Mapping[On, tuple[Row, ...]]
    cells: Mapping[On, Mapping[State, tuple[Row, ...]]]
    fields: Mapping[str, int]
    api_versions: Mapping[Api, Range]
    defaults: Mapping[str, int]
    covered: frozenset[On]

    def rules(self) -> Iterator[tuple[On, State, Row]]:
        """Yield every row of every cell, in the table's order."""
        for on, states in self.cells.items():
            for state, cell in states.items():
                for row in cell:
                    yield on, state, row

    def rule(self, name: str) -> Row:
        """Return the row of that name, such as `Heartbeat/Stable/alive`; raise `KeyError` for a name the profile lacks."""
        for on, state, row in self.rules():
            if rule_name(on, state, row) == name:
                return row
        raise KeyError(f"{self.name} has no rule {name}")


def profiles() -> tuple[str, ...]:
    """Return the names of all profiles, oldest first."""
    return tuple(RELEASES)


def profile(name: str = NEWEST) -> Profile:
    """Return a profile, resolved; raise `UnknownProfile`."""
    return _resolved(name)


@lru_cache
def _resolved(name: str) -> Profile:
    if name not in RELEASES:
        raise UnknownProfile(f"no profile is called {name!r}; there are {', '.join(RELEASES)}")
    release = RELEASES[name]
    cells = {on: dict(states) for on, states in TABLE.items()}
    before_group, fields = dict(BEFORE_GROUP), dict(NEWEST_FIELDS)
    for delta in DELTAS:
        if delta.since <= release:
            continue
        for change in delta.was:
            for state in change.states:
                cells[change.on][state] = applied(change, cells[change.on][state], where=f"{change.on.value}/{state_name(state)}")
        before_group.update(delta.before_group)
        fields.update(delta.fields)
    return Profile(
        name=name, release=release, before_group=before_group, cells=cells, fields=fields,
        api_versions=API_VERSIONS[name], defaults=DEFAULTS[name], covered=COVERED[name],
    )  # fmt: skip


def applied(change: Change, cell: tuple[Row, ...], *, where: str = "") -> tuple[Row, ...]:
    """Return `cell` as it was before the change; raise `ValueError` for a row that is not there: the delta is stale."""
    if change.name is None:
        return change.rows
    names = [row.name for row in cell]
    if change.name not in names:
        raise ValueError(f"a delta changes {where}/{change.name}, which is not there: {names}")
    index = names.index(change.name)
    return (*cell[:index], *change.rows, *cell[index + (not change.keeps) :])


def rows(name: str = NEWEST) -> tuple[tuple[On, State, Row], ...]:
    """Return every row of a profile with its input and state."""
    return tuple(profile(name).rules())


def api_versions(name: str = NEWEST) -> dict[Api, Range]:
    """Return what brokers of the profile's release advertise, as (oldest, newest)."""
    return dict(profile(name).api_versions)


def unreachable() -> Mapping[tuple[On, State], str]:
    """Return the cells that cannot come up, each with the reason."""
    return UNREACHABLE
