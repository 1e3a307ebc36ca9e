"""Judges the coordinator behind a tap by the oracle, group by group, and only where the tap has a group's whole history. Pure.

A tap observes less than a script knows. A member, an administrator or a tool that reaches the brokers without it, a fault of its own, or a moved
coordinator may explain answers that the oracle would otherwise report as wrong. Such a group is not judged; the reason is reported (decision 79).
Where the trace has all frames of the coordinator, only its members count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from groupproof.harness.judging.case_result import CaseResult
from groupproof.harness.judging.checkers.checker import findings_of
from groupproof.harness.judging.checkers.checker_registry import checkers_spoken
from groupproof.harness.judging.checkers.dialect_checkers import UnexpectedAnswer
from groupproof.harness.judging.checkers.tracking.reader_registry import naming_apis, readers_by_api
from groupproof.harness.judging.observed.limits import UnjudgedSide
from groupproof.harness.judging.observed.observed_group import ANSWERED, case_in, result_of
from groupproof.harness.judging.observed.repetition import weighed
from groupproof.harness.judging.oracle.predictions import read
from groupproof.harness.judging.oracle.replay_result import Divergence
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.judging.own_correlations import with_own_correlations
from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.model.case_dialect import dialect_of_apis
from groupproof.harness.model.forwarded_frame import STOPPED
from groupproof.harness.model.verdicts import Finding, Verdict, worst
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api, ErrorCode, api_named, error_named
from groupproof.protocol.wire.error_responses import error_of
from groupproof.protocol.wire.message_conversion import GROUP_APIS

__all__ = ["judge_answers", "judge_coordinator"]

EXCHANGES_MAX: Final = 20_000
"""Longer histories are not searched."""

# Errors outside the rules of a group: its coordinator is not available, or the sender is not authorised.
_BEYOND: Final = COORDINATOR_UNAVAILABLE | {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.KAFKA_STORAGE_ERROR,
}  # fmt: skip
_STRANGERS: Final = "an answer was not as its members alone explain it; others may have been in it or changed it that did not come through the tap"
_GROUP_KEYS: Final = frozenset(int(api) for api in GROUP_APIS)
_ONLY_WAY: Final = "only_way"
_COMES_EARLY: Final = ("early", "unparked")


def judge_coordinator(
    trace: Trace,
    upstream: Mapping[str, Any] | None,
    *,
    is_cut: bool = False,
    is_only_way: bool = False,
    names_release: bool = True,
    tolerance: Tolerance | None = None,
) -> list[CaseResult | UnjudgedSide]:
    """Return the oracle's result for each group that a member joined through the tap, in order of appearance.

    `upstream` is the body of the event about the upstream. With `is_cut` the trace is incomplete. With `is_only_way` nobody reached the coordinator
    without being recorded: the kit's own coordinator, whose trace has every frame. With `names_release`, an answer that is not the profile's is
    searched in all other releases, which takes seconds.
    """
    trace = with_own_correlations(trace)
    upstream = upstream if upstream is None else {**upstream, _ONLY_WAY: is_only_way}
    groups = list(dict.fromkeys(obs.group for obs in trace if obs.kind == "request" and obs.group is not None and _joins(obs)))
    return [_judged(group, trace, upstream, is_cut=is_cut, names_release=names_release, tolerance=tolerance) for group in groups]


def judge_answers(trace: Trace, *, names_release: bool = True, tolerance: Tolerance | None = None) -> CaseResult:
    """Return the oracle's result for one group, from a trace in a result of `judge_coordinator`, which includes the `ground` event."""
    return _answers(trace, names_release=names_release, tolerance=tolerance)[0]


def _answers(trace: Trace, *, names_release: bool, tolerance: Tolerance | None) -> tuple[CaseResult, str]:
    """Return the result, and a reason not to judge after all: a member that the tap has not observed may explain a different answer.

    What must hold whatever members the group has counts even then.
    """
    ground = next(obs.body for obs in trace if obs.body.get("name") == "ground")
    group, profile = ground["group"], ground["profile"]
    asked: Mapping[str, Any] = {"settings": ground["settings"], "groups": frozenset({group}), "tolerance": tolerance}
    reading = read(trace, profile=profile, names_release=names_release, **asked)
    story = [obs for obs in trace if obs.group == group]
    parts = [part for part, _ in checkers_spoken(story)]
    broken = [weighed(finding, 1) for part in parts for make in part.holds_of_coordinators for finding in findings_of(make(), story)]
    unexpected = [] if ground.get(_ONLY_WAY) else [_unexpected(divergence, story) for divergence in reading.divergences]
    may_be_of_unobserved_member = any(part.may_be_of_unobserved_member(answer) for part in parts for answer in unexpected)
    others = () if may_be_of_unobserved_member else tuple(weighed(finding, 1) for finding in reading.findings)
    kept = tuple(dict.fromkeys(finding.requirement for finding in reading.upheld))
    findings = (*broken, *others, _fine(len(reading.predictions), kept, profile))
    title = f"What the coordinator answered to group {group!r}, by the rules of {profile}"
    dialect = parts[0].dialect if parts else dialect_of_apis(obs.api for obs in story)
    case = case_in(ANSWERED, group, title, findings, kept, dialect=dialect)
    result = result_of(case, Judgement(verdict=worst(finding.verdict for finding in findings), findings=findings, measures_lag=False), trace)
    return result, f"{_STRANGERS}: {reading.findings[0].observed}" if may_be_of_unobserved_member and not broken else ""


def _unexpected(divergence: Divergence, story: Trace) -> UnexpectedAnswer:
    step = divergence.step
    return UnexpectedAnswer(
        request=step.exchange.request, code=step.exchange.code, differences=divergence.differences, is_early=divergence.kind in _COMES_EARLY,
        waits_for_others=step.after is not None and bool(step.after.absent),
        ids=frozenset(obs.member for obs in story if obs.kind == "response" and obs.api in naming_apis()),
    )  # fmt: skip


def _judged(group: str, trace: Trace, upstream: Mapping[str, Any] | None, *, is_cut: bool, **how: Any) -> CaseResult | UnjudgedSide:
    story = [obs for obs in trace if obs.group == group]
    upstream = upstream if upstream is None else _with_settings_of_coordinator(story, upstream)
    why = "more was seen than is kept" if is_cut else _unknown(group, upstream) or next((why for look in _looks(story) if (why := look(story))), "")
    why = why or next(_beside(story, trace), "")
    if why or upstream is None:
        return UnjudgedSide(group=group, side="coordinator", why=why)
    facts = {**upstream, **_of_group(group, trace)}
    parts = [part for part, _ in checkers_spoken(story)]
    if why := next((why for part in parts if (why := part.unmet(story, facts))), ""):
        return UnjudgedSide(group=group, side="coordinator", why=why)
    result, why = _answers(_as_scripted(group, trace, facts), **how)
    return UnjudgedSide(group=group, side="coordinator", why=why) if why else result


def _of_group(group: str, trace: Trace) -> Mapping[str, Any]:
    """Return what a tap learned about a group's configs, and about the topics since it began."""
    events = [obs for obs in trace if obs.who == "link" and obs.kind == "event"]
    own = next((obs.body for obs in events if obs.body.get("name") == "group_settings" and obs.group == group), None)
    return {"topic_changes": [name for obs in events if obs.body.get("name") == "topics" for name in obs.body["topics"]], "group_settings": own}


def _joins(obs: Observation) -> bool:
    reader = readers_by_api().get(obs.api or "")
    return reader is not None and reader.is_join(obs)


def _unknown(group: str, upstream: Mapping[str, Any] | None) -> str:
    if upstream is None:
        return "the trace does not say what the upstream is"
    if upstream["groups"] is None or upstream["settings"] is None:
        return str(upstream["untold"])
    return "the group was there before the tap" if group in upstream["groups"] else ""


def _with_settings_of_coordinator(story: Trace, upstream: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the upstream with the settings of the broker that coordinated the group, where the brokers differ. One that moved between such brokers
    has none."""
    of_nodes = upstream.get("settings_of_nodes")
    if not of_nodes:
        return upstream
    answers = [obs for obs in story if obs.kind == "response" and obs.api != Api.FIND_COORDINATOR.title and obs.error not in COORDINATOR_UNAVAILABLE]
    nodes = {str(obs.node) for obs in answers}
    if len(nodes) == 1 and (settings := of_nodes.get(*nodes)) is not None:
        return {**upstream, "settings": settings}
    several = f"; the group was answered by {', '.join(sorted(nodes))}" if len(nodes) > 1 else ""
    return {**upstream, "untold": f"{upstream['untold']}{several}"}


def _fine(answers: int, kept: tuple[str, ...], profile: str) -> Finding:
    return Finding(
        verdict=Verdict.OK, requirement=kept[0] if kept else "JOIN-03", expected=f"Every answer is one that {profile} gives.",
        observed=f"{answers} requests were answered as {profile} does.",
    )  # fmt: skip


# Reasons not to judge a group --------------------------------------------------------------------------------------------------


def _length(story: Trace) -> str:
    asked = sum(1 for obs in story if obs.kind == "request")
    return f"{asked} requests are more than the {EXCHANGES_MAX} that are searched" if asked > EXCHANGES_MAX else ""


def _faults(story: Trace) -> str:
    names = sorted({obs.fault for obs in story if obs.fault is not None})
    return f"{', '.join(names)} came between" if names else ""


def _nodes(story: Trace) -> str:
    asked = {obs.node for obs in story if obs.kind == "request" and obs.api != Api.FIND_COORDINATOR.title}
    return "its members asked more than one broker" if len(asked) > 1 else ""


def _codes(story: Trace) -> str:
    for obs in story:
        if obs.kind == "response" and obs.api is not None and (code := error_of(api_named(obs.api), obs.body)) in _BEYOND:
            return f"{obs.api} was answered {error_named(code)}, which the rules of a group do not foresee"
    return ""


_LOOKS: Final[tuple[Callable[[Trace], str], ...]] = (_length, _faults, _nodes, _codes)


def _looks(story: Trace) -> Iterator[Callable[[Trace], str]]:
    """Yield the functions that look for reasons not to judge: first those for any group, then those of the dialects that its members speak."""
    yield from _LOOKS
    for part, _ in checkers_spoken(story):
        yield from part.blind_spots


def _beside(story: Trace, trace: Trace) -> Iterator[str]:
    """Yield events on the connections of the group, and unreadable frames, that forbid a judgement."""
    connections = {obs.connection for obs in story}
    for observation in trace:
        name = observation.body.get("name") if observation.who == "link" else None
        if name == "passed" and observation.body.get("api_key") in _GROUP_KEYS:
            yield f"a frame of a group's could not be read: {observation.body.get('why')}"
        elif name == "closed" and observation.connection in connections and _is_cut_short(observation):
            yield f"a connection of its members ended: {observation.body.get('reason')}"
        elif observation.kind == "request" and observation.api == Api.DELETE_GROUPS.title:
            yield "groups were deleted meanwhile"


def _is_cut_short(closed: Observation) -> bool:
    """Return whether the broker or the tap ended a connection while answers were due on it."""
    return bool(closed.body.get("owed")) and closed.body.get("by") in ("upstream", "tap") and closed.body.get("reason") != STOPPED


# As a script ---------------------------------------------------------------------------------------------------------------------


def _as_scripted(group: str, trace: Trace, upstream: Mapping[str, Any]) -> Trace:
    """Return the trace of the group's connections in the form of a script's trace, with members as the speakers."""
    connections = {obs.connection for obs in trace if obs.group == group and obs.connection is not None}
    kept = [obs for obs in trace if obs.connection in connections and obs.api != Api.LIST_GROUPS.title]
    body = {"name": "ground", "profile": upstream["profile"], "settings": upstream["settings"], "group": group}
    body |= {"topic_ids": upstream["topics"]} if upstream.get("topics") else {}
    body |= {_ONLY_WAY: True} if upstream.get(_ONLY_WAY) else {}
    ground = Observation(seq=0, at_ns=kept[0].at_ns, run=kept[0].run, kind="event", who="kit", body=body)
    observations = [ground, *(replace(obs, who="member") if obs.kind in ("request", "response") else obs for obs in kept)]
    return [replace(obs, seq=seq) for seq, obs in enumerate(observations)]
