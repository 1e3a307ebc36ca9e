"""A profile: the table of one release, with everything else that its brokers fix (versions, default settings, fields of answers)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from groupproof.protocol.spec.admin_releases import ADMIN_DELTAS
from groupproof.protocol.spec.api_versions import Range, advertised
from groupproof.protocol.spec.append_errors import NEWEST_APPENDS, Appends
from groupproof.protocol.spec.classic_group import BEFORE_GROUP, TABLE, UNREACHABLE
from groupproof.protocol.spec.datalink import BASE, DEFAULTS, DELTAS_OF, UNREACHABLE_OF, VERSIONS
from groupproof.protocol.spec.defaults import defaults
from groupproof.protocol.spec.deltas import Cell, Delta, Line, applied, place, with_effects, with_guards
from groupproof.protocol.spec.java_releases import JAVA_DELTAS
from groupproof.protocol.spec.releases import DELTAS, NEWEST_FIELDS, OPTIONAL, RELEASES, line_of
from groupproof.protocol.spec.terms import On, Row, State, rule_name
from groupproof.protocol.vocabulary import Api

__all__ = [
    "Profile", "UnknownProfile", "api_versions", "default_profiles", "known_profiles", "neighbours", "profile", "profile_of", "profiles", "relatives", "rows",
    "unreachable",
]  # fmt: skip

NEWEST = "kafka-4.1"


class UnknownProfile(ValueError):
    """No profile has that name; the message lists those that exist."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """The group protocol as one release keeps it, like none but itself.

    `before_group` holds the checks made before the group is looked at, `cells` the rows by input and state; `unreachable` says why a cell
    is not there. `line` tells which of Kafka's coordinators it is.
    """

    name: str
    release: tuple[int, ...]
    line: Line
    before_group: Mapping[On, tuple[Row, ...]]
    cells: Mapping[On, Mapping[State, tuple[Row, ...]]]
    fields: Mapping[str, int]
    appends: Appends
    api_versions: Mapping[Api, Range]
    defaults: Mapping[str, int]
    unreachable: Mapping[tuple[On, State], str]

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
    """Return the names of the profiles of Kafka's releases, oldest first."""
    return tuple(RELEASES)


def relatives() -> tuple[str, ...]:
    """Return the names of the profiles that are no release of Kafka: coordinators of other systems that speak its group protocol."""
    return tuple(DELTAS_OF)


def known_profiles() -> tuple[str, ...]:
    """Return the names of all profiles: Kafka's releases, oldest first, then their relatives."""
    return (*profiles(), *relatives())


def profile(name: str = NEWEST) -> Profile:
    """Return a profile, resolved; raise `UnknownProfile`."""
    return _resolved(name)


def profile_of(release: tuple[int, ...], *, optional: bool = False) -> str:
    """Return the newest profile whose release line is no newer than `release`, of the default coordinator or of the optional one; else the oldest."""
    names = [*OPTIONAL] if optional else default_profiles()
    return next((name for name in reversed(names) if RELEASES[name][:2] <= release[:2]), names[0])


def default_profiles() -> tuple[str, ...]:
    """Return the profiles of coordinators that are their release's default, oldest first."""
    return tuple(name for name in RELEASES if name not in OPTIONAL)


def neighbours() -> tuple[tuple[str, str], ...]:
    """Return (older, newer) for neighbouring default profiles, oldest first; then each other with its release's default, and with the first after it."""
    options = [((OPTIONAL[name], name), (name, _after(name))) for name in OPTIONAL]
    return (*pairwise(default_profiles()), *(pair for pairs in options for pair in pairs))


def _after(name: str) -> str:
    """Return the next profile of the same coordinator."""
    names = profiles()
    return next(each for each in names[names.index(name) + 1 :] if line_of(each) is line_of(name))


@lru_cache
def _resolved(name: str) -> Profile:
    if name not in known_profiles():
        raise UnknownProfile(f"no profile is called {name!r}; there are {', '.join(known_profiles())}")
    is_kafka = name in RELEASES
    release, line = (RELEASES[name], line_of(name)) if is_kafka else (BASE, Line.SCALA)
    cells = {on: dict(TABLE.get(on, {})) for on in (*TABLE, On.FORCED)}
    before_group, fields, unreachable, appends = dict(BEFORE_GROUP), dict(NEWEST_FIELDS), dict(UNREACHABLE), dict(NEWEST_APPENDS)
    for delta in sorted((*DELTAS, *ADMIN_DELTAS, *JAVA_DELTAS, *DELTAS_OF.get(name, ())), key=lambda each: each.since, reverse=True):
        if delta.since <= release or delta.line not in (None, line):
            continue
        _undo(delta, cells)
        before_group.update(delta.before_group)
        fields.update(delta.fields)
        unreachable.update(delta.unreachable)
        appends.update(delta.appends)
    unreachable.update(UNREACHABLE_OF.get(name, {}))
    return Profile(
        name=name, release=release, line=line, before_group=before_group, fields=fields, appends=appends,
        cells={on: {state: cell for state, cell in states.items() if cell} for on, states in cells.items() if on in TABLE or any(states.values())},
        unreachable={where: reason for where, reason in unreachable.items() if not cells.get(where[0], {}).get(where[1])},
        api_versions=advertised(release) if is_kafka else VERSIONS, defaults=defaults(release) if is_kafka else DEFAULTS,
    )  # fmt: skip


def _undo(delta: Delta, cells: dict[On, dict[State, Cell]]) -> None:
    """Bring the cells to what held before the delta: first its changes, then its words, wherever they stand."""
    for change in delta.was:
        for state in change.states:
            cells[change.on][state] = applied(change, cells[change.on].get(state, ()), where=place(change, state))
    for states in cells.values():
        for state, cell in states.items():
            states[state] = tuple(with_guards(with_effects(row, delta.effects), delta.guards) for row in cell)


def rows(name: str = NEWEST) -> tuple[tuple[On, State, Row], ...]:
    """Return every row of a profile with its input and state."""
    return tuple(profile(name).rules())


def api_versions(name: str = NEWEST) -> dict[Api, Range]:
    """Return what brokers of the profile's release advertise, as (oldest, newest)."""
    return dict(profile(name).api_versions)


def unreachable(name: str = NEWEST) -> Mapping[tuple[On, State], str]:
    """Return the cells of a profile that cannot come up, each with the reason."""
    return profile(name).unreachable
