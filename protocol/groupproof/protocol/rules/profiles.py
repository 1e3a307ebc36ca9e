"""A profile: the tables of one release, one for each dialect that it speaks, and its brokers' API versions and default settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Final

from groupproof.protocol.rules.api_versions import Range, advertised
from groupproof.protocol.rules.cells import EventKind, Row, State
from groupproof.protocol.rules.classic.named_changes import NAMED_CHANGES
from groupproof.protocol.rules.classic.releases import OPTIONAL, RELEASES, line_of
from groupproof.protocol.rules.classic.signs_of_life import ANOTHER, SIGNS_OF_LIFE, with_sign_of_life
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.mends import MENDED, mended, mends_of
from groupproof.protocol.rules.defaults import defaults
from groupproof.protocol.rules.deltas import CoordinatorKind
from groupproof.protocol.rules.dialect import Dialect, Table, table_of, with_part
from groupproof.protocol.rules.dialect_registry import dialect_named, dialects, on_change, relative_named
from groupproof.protocol.rules.noted_reads import NotedFields
from groupproof.protocol.vocabulary import Api

__all__ = [
    "Profile", "UnknownProfile", "api_versions", "base_of", "default_profiles", "known_profiles", "mixed", "neighbours", "noted", "profile", "profile_of", "profiles", "relatives", "root_of", "rows",
    "spoken_in",
]  # fmt: skip

NEWEST = "kafka-4.1"

_WITH: Final = " with "
"""Stands before the part that a mixed profile has from another release."""

_OF: Final = " of "
"""Stands before the other release."""

_NOTED: Final = "reads noted"
"""Stands for the part by which a profile differs from itself in nothing but that what is read of it is noted."""

_RESOLVED_MAX: Final = 512
"""Many mixed profiles are compared for each answer that a broker's own rules do not explain."""


class UnknownProfile(ValueError):
    """No profile has this name. The message lists the existing ones."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """The group protocol in one release. A profile is equal only to itself.

    `tables` are those of its dialects, by name. `table` is the first of them: the classic one in Kafka's releases. `line` is which of Kafka's
    coordinators it has.
    """

    name: str
    release: tuple[int, ...]
    line: CoordinatorKind
    tables: Mapping[str, Table]
    api_versions: Mapping[Api, Range]
    defaults: Mapping[str, int]

    @property
    def table(self) -> Table:
        return next(iter(self.tables.values()))

    @property
    def dialects(self) -> tuple[Dialect, ...]:
        """Return the dialects that the release speaks."""
        return tuple(table.dialect for table in self.tables.values())

    @property
    def fields(self) -> Mapping[str, int]:
        """Return the values of answers that differ by release, for all its dialects."""
        return {name: value for table in self.tables.values() for name, value in table.fields.items()}

    @property
    def timers(self) -> frozenset[str]:
        """Return the names of the timers that a trace records, for all its dialects."""
        return frozenset(timer.value for dialect in self.dialects for timer in dialect.timers)

    def rules(self) -> Iterator[tuple[EventKind, State, Row]]:
        """Yield every row of every cell, dialect by dialect, in the table's order."""
        for table in self.tables.values():
            yield from table.rules()

    def named_rules(self) -> Iterator[tuple[str, Row]]:
        """Yield every row of every cell with its name, dialect by dialect."""
        for table in self.tables.values():
            yield from table.named_rules()

    def rule(self, name: str) -> Row:
        """Return the row with this name, such as `Heartbeat/Stable/alive`; raise `KeyError` for a name that the profile lacks."""
        for table in self.tables.values():
            row = table.rule(name)
            if row is not None:
                return row
        raise KeyError(f"{self.name} has no rule {name}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _NotedProfile(Profile):
    """A profile whose fields, and whose rows in a machine, note that they are read (`noting`)."""

    noted: NotedFields

    @property
    def fields(self) -> Mapping[str, int]:
        return self.noted


def profiles() -> tuple[str, ...]:
    """Return the names of the profiles of Kafka's releases, oldest first."""
    return tuple(RELEASES)


def relatives() -> tuple[str, ...]:
    """Return the names of the profiles outside Kafka's releases: coordinators of other systems that speak its group protocol."""
    return tuple(relative.name for dialect in dialects() for relative in dialect.relatives)


def known_profiles() -> tuple[str, ...]:
    """Return the names of all profiles: Kafka's releases, oldest first, then their relatives."""
    return (*profiles(), *relatives())


def profile(name: str = NEWEST) -> Profile:
    """Return a profile with its tables; raise `UnknownProfile`."""
    return _resolved(name)


def profile_of(release: tuple[int, ...], *, optional: bool = False) -> str:
    """Return the newest profile up to the line of `release`, of the default coordinator or the optional one; the oldest where there is none."""
    names = [*OPTIONAL] if optional else default_profiles()
    return next((name for name in reversed(names) if RELEASES[name][:2] <= release[:2]), names[0])


def default_profiles() -> tuple[str, ...]:
    """Return the profiles with their release's default coordinator, oldest first."""
    return tuple(name for name in RELEASES if name not in OPTIONAL)


def neighbours() -> tuple[tuple[str, str], ...]:
    """Return (older, newer) for adjacent default profiles, oldest first; then each other one with its release's default, and with its successor."""
    options = [((OPTIONAL[name], name), (name, _after(name))) for name in OPTIONAL]
    return (*pairwise(default_profiles()), *(pair for pairs in options for pair in pairs))


def _after(name: str) -> str:
    """Return the next profile with the same coordinator."""
    names = profiles()
    return next(text for text in names[names.index(name) + 1 :] if line_of(text) is line_of(name))


@lru_cache(maxsize=_RESOLVED_MAX)
def _resolved(name: str) -> Profile:
    found = relative_named(name)
    if found is not None:
        dialect, relative = found
        spoken = (dialect, *map(dialect_named, relative.beside))
        tables = {
            item.name: table_of(
                item, relative.release, CoordinatorKind.SCALA, beside=_others(item, spoken),
                deltas=relative.deltas if item is dialect else (), unreachable=relative.unreachable if item is dialect else {},
            )
            for item in spoken
        }  # fmt: skip
        return Profile(
            name=name,
            release=relative.release,
            line=CoordinatorKind.SCALA,
            tables=tables,
            api_versions=relative.api_versions,
            defaults=relative.defaults,
        )
    if _WITH in name:
        return _mixed(name)
    if name not in RELEASES:
        raise UnknownProfile(f"no profile is called {name!r}; there are {', '.join(known_profiles())}")
    return _of_release(name)


def _of_release(name: str, swapped: frozenset[str] = frozenset()) -> Profile:
    """Return the profile of a release of Kafka, with named changes swapped."""
    release, line, spoken = RELEASES[name], line_of(name), spoken_in(name)
    tables = {dialect.name: table_of(dialect, release, line, beside=_others(dialect, spoken), swapped=swapped) for dialect in spoken}
    return Profile(name=name, release=release, line=line, tables=tables, api_versions=advertised(release), defaults=defaults(release))


on_change(_resolved.cache_clear)


def mixed(name: str, part: str, other: str) -> str:
    """Return the name of a profile that has one part from another profile: a field of answers by its name, a cell by its rules' name without
    the row, or a change of a delta by the delta's `part`."""
    return f"{name}{_WITH}{part} of {other}"


def noted(name: str) -> str:
    """Return the name of the same profile, of which is noted what is read (`noted_reads.noting`)."""
    return f"{name}{_WITH}{_NOTED}"


def base_of(name: str) -> str:
    """Return the profile that has one part from another, by the name from `mixed`; "" for a profile that is no mix."""
    return name.rpartition(_WITH)[0]


def root_of(name: str) -> str:
    """Return the profile without its parts from others, by a name from `mixed`."""
    return name.partition(_WITH)[0]


def _mixed(name: str) -> Profile:
    """Return a profile by its name from `mixed`; raise `UnknownProfile` for a part that one of the two does not have."""
    base, _, rest = name.rpartition(_WITH)
    if rest == _NOTED:
        own = _resolved(base)
        return _NotedProfile(
            name=name, release=own.release, line=own.line, tables=own.tables, api_versions=own.api_versions, defaults=own.defaults,
            noted=NotedFields(own.fields),
        )  # fmt: skip
    part, _, other = rest.rpartition(_OF)
    return _with_changes(name, base) if part in NAMED_CHANGES else replace(_with_part(_resolved(base), part, other), name=name)


def _with_part(own: Profile, part: str, other: str) -> Profile:
    if other == ANOTHER and part in SIGNS_OF_LIFE:
        return replace(own, tables={**own.tables, own.table.dialect.name: with_sign_of_life(own.table, part)})
    if other == MENDED and CONSUMER.name in own.tables and part in mends_of(own.tables[CONSUMER.name]):
        return replace(own, tables={**own.tables, CONSUMER.name: mended(own.tables[CONSUMER.name], part)})
    others = _resolved(other).tables
    tables = {key: with_part(table, others[key], part) if key in others else table for key, table in own.tables.items()}
    if all(tables[key] is table for key, table in own.tables.items()):
        raise UnknownProfile(f"{own.name} has no {part!r} that it could have from {other}")
    return replace(own, tables=tables)


def _with_changes(name: str, base: str) -> Profile:
    """Return a profile whose last part is a named change: all such parts are made first, because a change may affect many cells."""
    root, *texts = name.split(_WITH)
    parts = [(part, other) for part, _, other in (text.rpartition(_OF) for text in texts)]
    swapped = frozenset(part for part, _ in parts) & NAMED_CHANGES
    if root not in RELEASES:
        raise UnknownProfile(f"{root} is no release of Kafka, and has no named changes")
    made = _of_release(root, swapped)
    for part, other in parts:
        made = made if part in swapped else _with_part(made, part, other)
    own = _resolved(base)
    if all(_is_same(made.tables[key], table) for key, table in own.tables.items()):
        raise UnknownProfile(f"{base} has all of {parts[-1][0]} that it could have")
    return replace(made, name=name)


def _is_same(one: Table, other: Table) -> bool:
    return (one.cells, one.before_group, one.fields, one.appends) == (other.cells, other.before_group, other.fields, other.appends)


def spoken_in(name: str) -> tuple[Dialect, ...]:
    """Return the dialects that a Kafka release speaks; raise `KeyError` for another name. It makes no tables, which would be slow."""
    release = RELEASES[name]
    return tuple(dialect for dialect in dialects() if dialect.since is not None and dialect.since <= release)


def _others(dialect: Dialect, spoken: tuple[Dialect, ...]) -> tuple[Dialect, ...]:
    return tuple(item for item in spoken if item is not dialect)


def rows(name: str = NEWEST) -> tuple[tuple[EventKind, State, Row], ...]:
    """Return every row of a profile's first table with its event and state, without the events of other dialects."""
    table = profile(name).table
    return tuple(rule for rule in table.rules() if rule[0] in table.dialect.events)


def api_versions(name: str = NEWEST) -> dict[Api, Range]:
    """Return the versions that brokers of the profile's release advertise, as (oldest, newest)."""
    return dict(profile(name).api_versions)
