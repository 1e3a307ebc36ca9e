"""The oracle: compares a recorded trace of scripted members with a profile's rules (contract, "Verdicts"). Pure.

The reference machine processes each group's recorded requests. The first answer that differs from the machine's is the group's one finding, of
the requirement of the broken rule. If another release's rules explain the group's whole history, the finding is NON_STRICT and names that
release.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.judging.oracle.deviation_findings import comes_further, deviation_findings, has_consumers, with_broken_target
from groupproof.harness.judging.oracle.exchanges import History, histories
from groupproof.harness.judging.oracle.explanation import Prediction, finding_of, idle_findings, open_findings, predictions_of, unusual_ids
from groupproof.harness.judging.oracle.machine_step import settings_of
from groupproof.harness.judging.oracle.mixed_releases import mixed_releases
from groupproof.harness.judging.oracle.replay_result import Divergence, ReplayResult
from groupproof.harness.judging.oracle.search import WALKS_MAX, explained, first_replay, unsettled
from groupproof.harness.judging.oracle.slowness import Slowness, slowness_of
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.rules import api_versions, profiles
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.cells import EventKind
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.trace import Observation, Trace

__all__ = ["TracePrediction", "findings_of", "judge_of", "predictions", "read", "transitions"]

_ADVERSE: Final = (Verdict.FAILED, Verdict.NON_STRICT)
_OTHER_WALKS_MAX: Final = WALKS_MAX // 4
_LATE_TOPICS_MS: Final = 10_000.0
"""How much later than Kafka's a coordinator may know a topic: ten times as late."""

_LATE_MS: Final = 2_000.0
"""How late timers and answers can be now and then on a shared broker host, even if nothing else in the run shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TracePrediction:
    """The result for a trace by a profile. `findings` are the differences from the rules, at most one adverse one for each group. `upheld` is
    one OK for each requirement that was kept. `transitions` are the machine's moves of the groups, which reports draw beside the frames.
    `divergences` are the first answers of the groups that the rules do not give."""

    findings: tuple[Finding, ...]
    upheld: tuple[Finding, ...]
    predictions: tuple[Prediction, ...]
    transitions: tuple[Observation, ...]
    divergences: tuple[Divergence, ...] = ()


def read(
    trace: Trace,
    *,
    profile: str,
    settings: Mapping[str, Any],
    tolerance: Tolerance | None = None,
    names_release: bool = True,
    groups: Collection[str] | None = None,
) -> TracePrediction:
    """Judge a trace by `profile`. The broker ran with `settings` (Kafka's dotted names; settings that no rule uses are ignored).

    With `names_release` the other releases are tried for a diverging answer, the newest first. With `groups` only those groups are judged.
    """
    exact = tolerance or Tolerance()
    of_groups = histories(trace)
    slowness = slowness_of(trace, of_groups)
    findings: list[Finding] = []
    upheld: dict[str, Finding] = {}
    entries: list[Prediction] = []
    moves: list[Observation] = []
    divergences: list[Divergence] = []
    for history in of_groups:
        if groups is not None and history.group not in groups:
            continue
        replay, used = _walked(history, profile, settings_of(settings, profile), exact, slowness)
        findings += _findings(history, replay, profile, settings, used, names_release=names_release)
        upheld.update({finding.requirement: finding for finding in _upheld(replay)})
        entries += predictions_of(history.group, replay)
        moves += _observed(history.group, replay)
        divergences += () if replay.divergence is None else (replay.divergence,)
    return TracePrediction(
        findings=tuple(findings), upheld=tuple(upheld.values()), predictions=tuple(sorted(entries, key=lambda prediction: prediction.seq)),
        transitions=tuple(sorted(moves, key=lambda obs: obs.at_ns)), divergences=tuple(divergences),
    )  # fmt: skip


def findings_of(trace: Trace, *, profile: str, settings: Mapping[str, Any], tolerance: Tolerance | None = None) -> list[Finding]:
    """Return the differences from the profile's rules; empty if there are none."""
    return list(read(trace, profile=profile, settings=settings, tolerance=tolerance).findings)


def predictions(trace: Trace, *, profile: str, settings: Mapping[str, Any], tolerance: Tolerance | None = None) -> list[Prediction]:
    """Return the profile's prediction for each request, up to the group's first divergence."""
    return list(read(trace, profile=profile, settings=settings, tolerance=tolerance, names_release=False).predictions)


def transitions(trace: Trace, *, profile: str, settings: Mapping[str, Any]) -> list[Observation]:
    """Return the groups' transitions as the machine makes them, as observations of the coordinator; their `seq` is 0."""
    return list(read(trace, profile=profile, settings=settings, names_release=False).transitions)


def judge_of(profile: str, settings: Mapping[str, Any]) -> Callable[[Evidence], Iterator[Finding]]:
    """Return the oracle as the judge of a case: its findings, and one OK for each requirement that was kept."""

    def judge(evidence: Evidence) -> Iterator[Finding]:
        found = read(evidence.trace, profile=profile, settings=settings)
        yield from found.findings
        yield from found.upheld

    return judge


def _walked(history: History, profile: str, settings: Settings, exact: Tolerance, slowness: Slowness) -> tuple[ReplayResult, Tolerance]:
    """Return the replay that explains the history, and its tolerance. Only if no other does, the coordinator knows topics late."""
    found = _walked_by_choices(history, profile, settings, exact, slowness)
    if found[0].divergence is None or not _has_topics(history):
        return found
    late = _walked_by_choices(history, profile, settings, exact.with_late_topics(_LATE_TOPICS_MS), slowness)
    return late if late[0].goes_beyond(found[0]) else found


def _has_topics(history: History) -> bool:
    """Return whether topics change in the history, which a group of consumers notices."""
    return bool(history.topic_changes) and has_consumers(history)


def _walked_by_choices(history: History, profile: str, settings: Settings, exact: Tolerance, slowness: Slowness) -> tuple[ReplayResult, Tolerance]:
    """Return the replay that explains the history, and its tolerance: with Kafka's targets and epochs, or with the broker's own if those explain
    more."""
    kafkas = _walked_by(partial(explained, profile=profile, settings=settings), history, exact, slowness)
    if kafkas[0].divergence is None or not has_consumers(history):
        return kafkas
    own = _walked_by(partial(explained, profile=profile, settings=settings, follows_choices=True), history, exact, slowness)
    return own if comes_further(own[0], kafkas[0]) else kafkas


def _walked_by(explain: Callable[..., ReplayResult], history: History, exact: Tolerance, slowness: Slowness) -> tuple[ReplayResult, Tolerance]:
    """Return the replay that explains the history. If none does and the broker host was late, the tolerance is wider by that lateness."""
    replay = explain(history, tolerance=exact)
    if replay.divergence is not None and slowness.is_busy:
        # On a busy host one connection is read later than another: a request may not have been processed although the script made sure of it.
        again = explain(unsettled(history), tolerance=exact)
        replay = again if again.divergence is None else replay
    if replay.divergence is None or not (lag_ms := _allowed_ms(replay.divergence, slowness)):
        return replay, exact
    wider = exact.widened(lag_ms)
    for reading in (history, unsettled(history)):
        again = explain(reading, tolerance=wider)
        if again.divergence is None:
            return again, wider
    return replay, exact


def _allowed_ms(divergence: Divergence, slowness: Slowness) -> float:
    return slowness.allowed_ms(divergence.kind, divergence.step.exchange.api)


def _tried(history: History, profile: str, settings: Mapping[str, Any], tolerance: Tolerance, base: ReplayResult) -> ReplayResult:
    """Return a replay of the history by other rules or times than those of `base`.

    It makes the choices of `base`. Behind the divergence of `base` the first target of the broker's own may come.
    """
    explain = partial(explained, history, profile=profile, settings=settings_of(settings, profile), tolerance=tolerance, walks_max=_OTHER_WALKS_MAX)
    replay = explain(follows_choices=bool(base.deviations))
    if base.deviations or replay.divergence is None or not replay.goes_beyond(base) or not has_consumers(history):
        return replay
    own = explain(follows_choices=True)
    return own if comes_further(own, replay) else replay


def _tried_by_rules(history: History, profile: str, settings: Mapping[str, Any], tolerance: Tolerance, base: ReplayResult) -> ReplayResult | None:
    """Return a replay of the history by other rules than those of `base`; None where they do not explain more.

    Where `base` takes the first way at every branch, one replay shows that. Other ways depend on the rules, and need a search. Where Kafka's choices
    do not explain more, the broker's own may, such as its first epoch.
    """
    first = partial(first_replay, history, profile=profile, settings=settings_of(settings, profile), tolerance=tolerance)
    is_first = not base.deviations and not base.turns and not tolerance.late_topics_ms
    replay = _tried(history, profile, settings, tolerance, base) if not is_first or first().goes_beyond(base) else base
    if not replay.goes_beyond(base) and not base.deviations and has_consumers(history) and first(follows_choices=True).goes_beyond(base):
        explain = partial(explained, history, profile=profile, settings=settings_of(settings, profile), tolerance=tolerance)
        replay = explain(walks_max=_OTHER_WALKS_MAX, follows_choices=True)
    return replay if replay.goes_beyond(base) else None


def _by_chance(
    findings: list[Finding], history: History, profile: str, settings: Mapping[str, Any], used: Tolerance, replay: ReplayResult
) -> list[Finding]:
    """Return the findings of the replay's divergence with the proof that one observation gives: TIMING if a timer or an answer that was seconds
    late explains the history (contract, "Time"), LIVENESS if a rare cleanup does, or a coordinator that never knows a topic."""
    adverse = [finding for finding in findings if finding.verdict in _ADVERSE and finding.proof is Proof.SAFETY]
    if not adverse:
        return findings
    readings = [
        (Proof.TIMING, history, used.later(_LATE_MS)),
        (Proof.TIMING, unsettled(history), used.later(_LATE_MS)),
    ]
    if settings_of(settings, profile).offsets_retention_check_interval_ms > used.cleanup_ms:
        readings.append((Proof.LIVENESS, history, used.with_any_cleanup()))
    if _has_topics(history):
        readings.append((Proof.LIVENESS, history, used.with_late_topics(math.inf)))
    explains = (proof for proof, item, tolerance in readings if _tried(item, profile, settings, tolerance, replay).divergence is None)
    proof = next(explains, Proof.SAFETY)
    return [replace(finding, proof=proof) if finding in adverse else finding for finding in findings]


def _findings(
    history: History, replay: ReplayResult, profile: str, settings: Mapping[str, Any], tolerance: Tolerance, *, names_release: bool
) -> Iterator[Finding]:
    found: list[Finding] = []
    last = replay
    if replay.divergence is not None:
        finding = with_broken_target(finding_of(replay.divergence, replay), replay)
        is_of_rules = finding.verdict in _ADVERSE
        if names_release and is_of_rules:
            found, last = _by_releases(history, replay, profile, settings, tolerance)
            is_failed = any(finding.verdict is Verdict.FAILED for finding in found)
            if is_failed and _has_topics(history) and not tolerance.late_topics_ms:
                late = _by_releases(history, replay, profile, settings, tolerance.with_late_topics(_LATE_TOPICS_MS))
                found, last = late if late[1].goes_beyond(last) else (found, last)
        else:
            found = [finding]
    yield from idle_findings(last)
    yield from open_findings(last)
    yield from unusual_ids(last)
    yield from deviation_findings(last)
    yield from _by_chance(found, history, profile, settings, tolerance, replay)


def _by_releases(
    history: History, replay: ReplayResult, profile: str, settings: Mapping[str, Any], tolerance: Tolerance
) -> tuple[list[Finding], ReplayResult]:
    """Return the findings with the release that answers so, and the replay that goes furthest.

    Parts that every release leaves open come first, then one release that explains all, or single parts of others.
    """
    found: list[Finding] = []

    def explain(name: str) -> ReplayResult | None:
        return _tried_by_rules(history, name, settings, tolerance, replay)

    for are_open in (True, False):
        for part in mixed_releases(profile, replay, explain, are_open=are_open):
            found.append(_of_release(part.ended, part.release, part.requirement))
            profile, replay = part.profile, part.replay
        if replay.divergence is None:
            return found, replay
        finding = with_broken_target(finding_of(replay.divergence, replay), replay)
        asks_releases = are_open and finding.verdict in _ADVERSE
        release = _other_release(history, profile, settings, tolerance, replay) if asks_releases else None
        if release is not None:
            return [*found, _of_release(replay, release)], replay
        if finding.verdict not in _ADVERSE:
            break
    return [*found, finding], replay


def _of_release(replay: ReplayResult, release: str, requirement: str = "") -> Finding:
    """Return the finding of a divergence that agrees with another release: INFORMATIONAL by the requirement that leaves it open, else NON_STRICT
    at worst."""
    assert replay.divergence is not None, "there is a divergence"
    finding = finding_of(replay.divergence, replay)
    verdict = Verdict.INFORMATIONAL if requirement or finding.verdict is Verdict.INFORMATIONAL else Verdict.NON_STRICT
    return replace(finding, verdict=verdict, requirement=requirement or finding.requirement, observed=f"{finding.observed} As {release} does.")


def _other_release(history: History, profile: str, settings: Mapping[str, Any], tolerance: Tolerance, base: ReplayResult) -> str | None:
    """Return the newest other release whose rules explain the whole history.

    Of releases with equal rules for the history's requests only one is tried.
    """
    tried = [_rules(profile, history)]
    for other in reversed(profiles()):
        rules = _rules(other, history)
        if rules in tried or not _speaks(other, history):
            continue
        tried_release = _tried_by_rules(history, other, settings, tolerance, base)
        if tried_release is not None and tried_release.divergence is None:
            return other
        tried.append(rules)
    return None


def _rules(release: str, history: History) -> tuple[object, ...]:
    """Return the rules of a release that can affect the requests of a history."""
    kept_by, asked = profile_named(release), {exchange.api.title for exchange in history.exchanges}
    requests = frozenset(request for dialect in kept_by.dialects for request in dialect.requests)
    tables = (table for table in kept_by.tables.values() if any(request.value in asked for request in table.dialect.requests))
    return tuple(_bearing(table, asked, requests) for table in tables), kept_by.defaults, kept_by.line


def _bearing(table: Table, asked: Collection[str], requests: Collection[EventKind]) -> tuple[object, ...]:
    """Return the rules of a table that can affect requests of the APIs `asked`; `requests` are all event kinds of requests."""
    cells = {kind: states for kind, states in table.cells.items() if kind not in requests or kind.value in asked}
    checks = {kind: rows for kind, rows in table.before_group.items() if kind.value in asked}
    return table.dialect.name, cells, checks, table.fields, table.appends


def _speaks(release: str, history: History) -> bool:
    """Return whether the release supports the requests' dialects and versions: it has no rules for others."""
    ranges = api_versions(release)
    requests = {request.value for dialect in profile_named(release).dialects for request in dialect.requests}
    if any(exchange.api.title not in requests for exchange in history.exchanges):
        return False
    return all(exchange.api in ranges and ranges[exchange.api][0] <= exchange.version <= ranges[exchange.api][1] for exchange in history.exchanges)


def _upheld(replay: ReplayResult) -> Iterator[Finding]:
    wrong = None if replay.divergence is None else replay.divergence.step
    for step in replay.steps:
        requirement = step.answer_requirement or step.requirement
        if step is not wrong and step.instead is None and step.expected is not None and step.exchange.answer is not None and requirement:
            yield Finding(
                verdict=Verdict.OK, requirement=requirement, seq=step.exchange.seq,
                expected=f"{step.exchange.api.title} is answered by the rule {step.answer_rule or step.rule}.", observed="It is.",
            )  # fmt: skip


def _observed(group: str, replay: ReplayResult) -> Iterator[Observation]:
    for at_ms, moved in replay.transitions:
        yield Observation(seq=0, at_ns=at_ms * 1_000_000, kind="transition", **{**moved.columns(), "group": group})
