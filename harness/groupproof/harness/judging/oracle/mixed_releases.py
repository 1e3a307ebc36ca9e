"""Finds coordinators that do one thing as another release does and the rest as their own. Pure.

The history is replayed with a profile that has one part of the other release. A part is a cell of the table, the checks before the group, a field
of answers that differs by release, or a named change of a release. An answer that some release's rules give in the same state is NON_STRICT at worst
(contract, "Verdicts", Releases). It is INFORMATIONAL where the part is open, or where a later release has it as the fix of a bug of Kafka.
The replay goes on behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Final, NamedTuple

from groupproof.protocol.rules import api_versions, profiles
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.cells import Row, cell_name
from groupproof.protocol.rules.classic.classic_terms import VERSION_GUARDS, Guard
from groupproof.protocol.rules.classic.named_changes import changes_beside
from groupproof.protocol.rules.classic.signs_of_life import ANOTHER, HELD_TO, REFUSALS_OF_MEMBERS, SIGNS_OF_LIFE
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.mends import MENDED, MENDED_ROWS, MENDS, mends_of
from groupproof.protocol.rules.consumer.open_release_fields import OPEN_RELEASE_FIELDS
from groupproof.protocol.rules.dialect_registry import on_change
from groupproof.protocol.rules.noted_reads import Reads, noting
from groupproof.protocol.rules.profile_contrast import contrast_of
from groupproof.protocol.rules.profiles import UnknownProfile, mixed, noted, root_of
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api, Level

if TYPE_CHECKING:
    from groupproof.harness.judging.oracle.replay_result import ReplayResult
    from groupproof.protocol.rules import Profile

__all__ = ["MixedRelease", "RulesRead", "mixed_releases"]

PARTS_MAX: Final = 4
_MIXES_MAX: Final = 8_192
_BEFORE: Final = "before"
_SINCE_2_4: Final = (2, 4)

Explain = Callable[[str], "ReplayResult | None"]
"""Returns a replay by a profile that goes beyond the divergence, None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedRelease:
    """A divergence that disappears with a part of another release: `ended` is the replay with the divergence, `release` is where the part comes from.
    `requirement` is what the part is about, and `level` how severe it is; it is "" where the rule that ended the replay says that.
    `replay` goes on behind the divergence, by `profile`."""

    ended: ReplayResult
    release: str
    requirement: str
    level: Level
    profile: str
    replay: ReplayResult


def mixed_releases(profile: str, replay: ReplayResult, explain: Explain, *, are_open: bool) -> Iterator[MixedRelease]:
    """Yield the parts, one after the other, with which the replay goes on behind each divergence of `replay`.

    With `are_open` only those fields are tried for which no release's value is required.
    """
    for _ in range(PARTS_MAX):
        found = _first(profile, replay, explain, are_open=are_open)
        if found is None:
            return
        yield found
        profile, replay = found.profile, found.replay


def _first(profile: str, replay: ReplayResult, explain: Explain, *, are_open: bool) -> MixedRelease | None:
    if replay.divergence is None or replay.divergence.kind == "lost":
        return None
    rules = RulesRead(profile, explain)
    for part in _profiles(profile, replay, rules, are_open=are_open):
        tried = explain(part.profile) if rules.tells_apart(part.profile) else None
        if tried is not None and (not part.is_change or _is_borne_out(tried, replay)):
            return MixedRelease(
                ended=replay, release=part.release, requirement=part.requirement, level=part.level, profile=part.profile, replay=tried
            )
    return None


class RulesRead:
    """What the replays of a history by `profile` read. A profile that differs only in what they do not read gives the same answers at the same times.

    To try it would cost a replay, and show nothing. The reads are noted when somebody asks.
    """

    def __init__(self, profile: str, explain: Explain) -> None:
        self._profile, self._explain = profile, explain

    @cached_property
    def _reads(self) -> Reads | None:
        """Return what was read, None where the own profile goes on by itself: that says nothing of others."""
        with noting() as reads:
            again = self._explain(noted(self._profile))
        return reads if again is None else None

    def reads_field(self, name: str) -> bool:
        return self._reads is None or name in self._reads.fields

    def tells_apart(self, other: str) -> bool:
        """Return whether the replays read anything in which the other profile differs."""
        return self._reads is None or contrast_of(self._profile, other).is_read(self._reads)


def _is_borne_out(tried: ReplayResult, replay: ReplayResult) -> bool:
    """Return whether more than one answer agrees with a change that affects all that follows: if the next one contradicts it, it explains nothing."""
    assert replay.divergence is not None, "a part is for a divergence"
    return tried.divergence is None or tried.divergence.matched > replay.divergence.matched + 1


class _Part(NamedTuple):
    """A profile with a part of another release, and the requirement that the part is about, as severe as `level`; "" for that of the broken rule."""

    profile: str
    release: str
    requirement: str = ""
    is_change: bool = False
    level: Level = Level.INFO


def _profiles(profile: str, replay: ReplayResult, rules: RulesRead, *, are_open: bool) -> Iterator[_Part]:
    """Yield each profile that differs in one part that may affect the divergence, with the part's release and the requirement by which it is open.

    Equal contents of a part come once, and fields that no replay reads do not come. A named change may affect the divergence by what an earlier
    request left behind (KAFKA-14009).
    """
    if are_open:
        yield from _mended(profile, replay)
        yield from _changed(profile, are_open=True)
    contents: list[object] = []
    own = profile_named(profile)
    parts = list(_open_parts(own, replay) if are_open else _parts(own, replay))
    for other, part in product(_others(own, replay), [part for part in parts if part not in own.fields or rules.reads_field(part)]):
        name = mixed(profile, part, other)
        if not _exists(name):
            continue
        content = _content(profile_named(name), part)
        if (part, content) not in contents and (_speaks(other, replay) or _is_of_any_version(_content(own, part), content)):
            contents.append((part, content))
            yield _Part(name, other, OPEN_RELEASE_FIELDS.get(part, ""))
    if not are_open:
        yield from _changed(profile, are_open=False)
        yield from _kept_alive(profile, replay)


def _kept_alive(profile: str, replay: ReplayResult) -> Iterator[_Part]:
    """Yield the profiles in which refused requests keep a session, where such requests came before."""
    if root_of(profile) in profiles() and any(step.rule.rpartition("/")[2] in REFUSALS_OF_MEMBERS for step in replay.steps):
        yield from (_Part(mixed(profile, part, ANOTHER), ANOTHER, HELD_TO, is_change=True, level=by_id(HELD_TO).level) for part in SIGNS_OF_LIFE)


def _changed(profile: str, *, are_open: bool) -> Iterator[_Part]:
    """Yield the profiles with a named change: of a later release, which is open where it fixes a bug of Kafka, or of an earlier one.

    Two fixes may show in one answer only: with KAFKA-10284 and KAFKA-14009 a static member that returns has new timeouts.
    """
    root = root_of(profile)
    oldest_release = _oldest(profile_named(root))
    changes = [
        change
        for change in (changes_beside(root) if root in profiles() else ())
        if bool(change.mends) is are_open and profile_named(change.release).release >= oldest_release
    ]
    pairs = (pair for pair in combinations(changes, 2) if are_open and any(change.is_of_effects for change in pair))
    for several in (*((change,) for change in changes), *pairs):
        name = profile
        for change in several:
            name = mixed(name, change.part, change.release)
        if _exists(name):
            last = max(several, key=lambda change: profile_named(change.release).release)
            yield _Part(name, f"{last.release} ({' and '.join(change.part for change in several)})", last.mends, is_change=True)


@lru_cache(maxsize=_MIXES_MAX)
def _exists(name: str) -> bool:
    # To find that a release has a change already takes as long as to make its tables without it.
    try:
        profile_named(name)
    except UnknownProfile:
        return False
    return True


on_change(_exists.cache_clear)


def _mended(profile: str, replay: ReplayResult) -> Iterator[_Part]:
    """Yield the profiles without one of the bugs of their release. The rows that are a bug need members of both protocols."""
    table = profile_named(profile).tables.get(CONSUMER.name)
    asked = {step.exchange.api for step in replay.steps}
    if table is None or Api.CONSUMER_GROUP_HEARTBEAT not in asked:
        return
    mends = (mend for mend in mends_of(table) if mend not in MENDED_ROWS or Api.JOIN_GROUP in asked)
    yield from (_Part(mixed(profile, mend, MENDED), MENDED, MENDS[mend]) for mend in mends)


def _others(own: Profile, replay: ReplayResult) -> list[str]:
    """Return the releases that have the diverging request, in its version or in an older one, the newest first.

    A release before 2.4 comes only if the own one is as old (KIP-345, KIP-389, KIP-394).
    """
    assert replay.divergence is not None, "a part is for a divergence"
    api, oldest_release = replay.divergence.step.exchange.api, _oldest(own)
    return [other for other in reversed(profiles()) if profile_named(other).release >= oldest_release and api in api_versions(other)]


def _speaks(other: str, replay: ReplayResult) -> bool:
    assert replay.divergence is not None, "a part is for a divergence"
    oldest, newest = api_versions(other)[replay.divergence.step.exchange.api]
    return oldest <= replay.divergence.step.exchange.version <= newest


def _is_of_any_version(*contents: object) -> bool:
    """Return whether the rows of both releases are for classic requests of every version: OffsetCommit v9 is as v8 where the group exists."""
    rows = [row for content in contents if isinstance(content, list) for row in content]
    return bool(rows) and all(isinstance(row, Row) and isinstance(row.guard, Guard) and row.guard not in VERSION_GUARDS for row in rows)


def _oldest(own: Profile) -> tuple[int, ...]:
    return min(own.release, _SINCE_2_4)


def _open_parts(own: Profile, replay: ReplayResult) -> Iterator[str]:
    yield from (name for name in _fields(own, replay) if name in OPEN_RELEASE_FIELDS)


def _parts(own: Profile, replay: ReplayResult) -> Iterator[str]:
    """Yield the cells that decided on the request, the checks before them, and the answer fields that are not open."""
    assert replay.divergence is not None, "a part is for a divergence"
    step = replay.divergence.step
    cells = [rule.rpartition("/")[0] for rule in (step.answer_rule, step.rule) if rule]
    yield from dict.fromkeys([*cells, f"{step.exchange.api.title}/{_BEFORE}"])
    yield from (name for name in _fields(own, replay) if name not in OPEN_RELEASE_FIELDS)


def _fields(own: Profile, replay: ReplayResult) -> Iterator[str]:
    """Yield the release-dependent fields of the dialects that the history's requests use."""
    asked = {step.exchange.api.title for step in replay.steps}
    for table in own.tables.values():
        if any(request.value in asked for request in table.dialect.requests):
            yield from table.fields


def _content(profile: Profile, part: str) -> object:
    """Return a profile's content of a part, so that releases with equal contents are tried once."""
    if part in profile.fields:
        return profile.fields[part]
    kind, _, place = part.partition("/")
    if place == _BEFORE:
        return [cell for table in profile.tables.values() for event, cell in table.before_group.items() if event.value == kind]
    return [
        row
        for table in profile.tables.values() for event, states in table.cells.items() if event.value == kind
        for state, cell in states.items() if cell_name(event, state, table.dialect.state_prefix) == part
        for row in cell
    ]  # fmt: skip
