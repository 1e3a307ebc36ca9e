"""The oracle: what a profile's rules say to a recorded trace of scripted members (contract, "Verdicts"). Pure.

For each group apart the reference machine is stepped with the recorded requests; the first answer that is not the machine's is the group's
one finding, of the requirement of the rule that was not kept. Where another release's rules explain the whole history of the group, the finding is
NON_STRICT and names that release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from groupproof.coordinator.machine.coordinator import Settings
from groupproof.harness.judging.oracle.exchanges import History, histories
from groupproof.harness.judging.oracle.explanation import Prediction, finding_of, idle_findings, predictions_of, unusual_ids
from groupproof.harness.judging.oracle.history_replay import Divergence, Walked
from groupproof.harness.judging.oracle.search import WALKS_MAX, explained, unsettled
from groupproof.harness.judging.oracle.slowness import Slowness, slowness_of
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.model.evidence import Evidence
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.rules import api_versions, profiles
from groupproof.protocol.rules import profile as profile_named
from groupproof.protocol.rules.dialect import Table
from groupproof.protocol.trace import Observation, Trace

__all__ = ["Reading", "findings_of", "judge_of", "predictions", "read", "settings_of", "transitions"]

_ADVERSE: Final = (Verdict.FAILED, Verdict.NON_STRICT)
_OTHER_WALKS_MAX: Final = WALKS_MAX // 4
_LATE_MS: Final = 2_000.0
"""So late timers and answers may be now and then on a machine that others use too, whatever else of a run shows that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A trace as a profile reads it. `findings` are what is not as the rules say, at most one adverse a group; `upheld` is one OK for each
    requirement that was seen to be kept; `transitions` are the group's moves as the machine made them, to be drawn beside the frames."""

    findings: tuple[Finding, ...]
    upheld: tuple[Finding, ...]
    predictions: tuple[Prediction, ...]
    transitions: tuple[Observation, ...]


def read(
    trace: Trace,
    *,
    profile: str,
    settings: Mapping[str, Any],
    tolerance: Tolerance | None = None,
    names_release: bool = True,
    groups: Collection[str] | None = None,
) -> Reading:
    """Read a trace by `profile`, whose broker ran with `settings` (Kafka's dotted names; those that no rule asks for are left out).

    With `names_release` an answer that is not the profile's is looked for in the other releases, the newest first. Of other groups than `groups`,
    where they are given, nothing is said.
    """
    exact = tolerance or Tolerance()
    slowness = slowness_of(trace)
    findings: list[Finding] = []
    upheld: dict[str, Finding] = {}
    told: list[Prediction] = []
    moves: list[Observation] = []
    for history in histories(trace):
        if groups is not None and history.group not in groups:
            continue
        walked, used = _walked(history, profile, settings_of(settings, profile), exact, slowness)
        found = list(_findings(history, walked, profile, settings, used, names_release=names_release))
        findings += _as_late(found, history, profile, settings, used, walked)
        upheld.update({each.requirement: each for each in _upheld(walked)})
        told += predictions_of(history.group, walked)
        moves += _observed(history.group, walked)
    return Reading(
        findings=tuple(findings), upheld=tuple(upheld.values()), predictions=tuple(sorted(told, key=lambda each: each.seq)),
        transitions=tuple(sorted(moves, key=lambda each: each.at_ns)),
    )  # fmt: skip


def findings_of(trace: Trace, *, profile: str, settings: Mapping[str, Any], tolerance: Tolerance | None = None) -> list[Finding]:
    """Return what is not as the profile's rules say; empty where all is."""
    return list(read(trace, profile=profile, settings=settings, tolerance=tolerance).findings)


def predictions(trace: Trace, *, profile: str, settings: Mapping[str, Any], tolerance: Tolerance | None = None) -> list[Prediction]:
    """Return what the profile's rules give for each request, up to the group's first divergence."""
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


def _walked(history: History, profile: str, settings: Settings, exact: Tolerance, slowness: Slowness) -> tuple[Walked, Tolerance]:
    """Return the walk that explains the history, and by which tolerance: where none does, but the machine was late, with as much more time as that took."""
    walked = explained(history, profile=profile, settings=settings, tolerance=exact)
    if walked.divergence is not None and slowness.is_busy:
        # On a busy machine one connection is read later than another: what seemed to be taken up may not have been.
        again = explained(unsettled(history), profile=profile, settings=settings, tolerance=exact)
        walked = again if again.divergence is None else walked
    if walked.divergence is None or not (lag_ms := _allowed_ms(walked.divergence, slowness)):
        return walked, exact
    wider = exact.widened(lag_ms)
    for reading in (history, unsettled(history)):
        again = explained(reading, profile=profile, settings=settings, tolerance=wider)
        if again.divergence is None:
            return again, wider
    return walked, exact


def _allowed_ms(met: Divergence, slowness: Slowness) -> float:
    return slowness.allowed_ms(met.kind, met.step.exchange.api)


def _as_late(findings: list[Finding], history: History, profile: str, settings: Mapping[str, Any], used: Tolerance, walked: Walked) -> list[Finding]:
    """Return the findings, TIMING where a timer or an answer that was seconds late explains the history: one sighting of that proves nothing (contract, "Time")."""
    adverse = [each for each in findings if each.verdict in _ADVERSE and each.proof is Proof.SAFETY]
    if walked.divergence is None or not adverse:
        return findings
    held = settings_of(settings, profile)
    readings = (
        explained(each, profile=profile, settings=held, tolerance=used.later(_LATE_MS), walks_max=_OTHER_WALKS_MAX)
        for each in (history, unsettled(history))
    )
    is_late = any(each.divergence is None for each in readings)
    return [replace(each, proof=Proof.TIMING) if is_late and each in adverse else each for each in findings]


def _findings(
    history: History, walked: Walked, profile: str, settings: Mapping[str, Any], tolerance: Tolerance, *, names_release: bool
) -> Iterator[Finding]:
    yield from idle_findings(walked)
    yield from unusual_ids(walked)
    if walked.divergence is None:
        return
    finding = finding_of(walked.divergence, walked)
    is_of_rules = finding.verdict in _ADVERSE and finding.proof is not Proof.TIMING  # no release is slower by its rules
    release = _other_release(history, profile, settings, tolerance) if names_release and is_of_rules else None
    if release is not None:
        finding = replace(finding, verdict=Verdict.NON_STRICT, observed=f"{finding.observed} As {release} does.")
    yield finding


def _other_release(history: History, profile: str, settings: Mapping[str, Any], tolerance: Tolerance) -> str | None:
    """Return the newest other release whose rules explain the whole history; of releases that answer what it asks by the same rules one is tried."""
    tried = [_rules(profile, history)]
    for other in reversed(profiles()):
        rules = _rules(other, history)
        if rules in tried or not _speaks(other, history):
            continue
        walked = explained(history, profile=other, settings=settings_of(settings, other), tolerance=tolerance, walks_max=_OTHER_WALKS_MAX)
        if walked.divergence is None:
            return other
        tried.append(rules)
    return None


def _rules(release: str, history: History) -> tuple[object, ...]:
    """Return all of a release's table that can bear upon the requests of a history."""
    kept_by, asked = profile_named(release), {each.api.title for each in history.exchanges}
    return tuple(_bearing(table, asked) for table in kept_by.tables.values()), kept_by.defaults, kept_by.line


def _bearing(table: Table, asked: Collection[str]) -> tuple[object, ...]:
    """Return what of a table bears upon requests of the APIs `asked`."""
    cells = {on: states for on, states in table.cells.items() if on not in table.dialect.requests or on.value in asked}
    checks = {on: rows for on, rows in table.before_group.items() if on.value in asked}
    return table.dialect.name, cells, checks, table.fields, table.appends


def _speaks(release: str, history: History) -> bool:
    """Tell whether the release speaks the requests' dialects, and answers these versions at all: it has no rules for others."""
    ranges = api_versions(release)
    requests = {request.value for dialect in profile_named(release).dialects for request in dialect.requests}
    if any(exchange.api.title not in requests for exchange in history.exchanges):
        return False
    return all(each.api in ranges and ranges[each.api][0] <= each.version <= ranges[each.api][1] for each in history.exchanges)


def _upheld(walked: Walked) -> Iterator[Finding]:
    wrong = None if walked.divergence is None else walked.divergence.step
    for step in walked.steps:
        requirement = step.answer_requirement or step.requirement
        if step is not wrong and step.expected is not None and step.exchange.answer is not None and requirement:
            yield Finding(
                verdict=Verdict.OK, requirement=requirement, seq=step.exchange.seq,
                expected=f"{step.exchange.api.title} is answered by the rule {step.answer_rule or step.rule}.", observed="It is.",
            )  # fmt: skip


def _observed(group: str, walked: Walked) -> Iterator[Observation]:
    for at_ms, moved in walked.transitions:
        yield Observation(seq=0, at_ns=at_ms * 1_000_000, kind="transition", **{**moved.columns(), "group": group})


def settings_of(settings: Mapping[str, Any], profile: str) -> Settings:
    """Return what the machine of a profile has of a broker's settings, by their dotted names."""
    known = {each.name for each in fields(Settings)}
    return Settings.of({name: value for name, value in settings.items() if name.replace(".", "_") in known}, profile)
