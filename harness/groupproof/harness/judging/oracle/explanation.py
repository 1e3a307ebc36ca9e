"""The texts for the result of a replay: predictions, findings and transitions, in Kafka's terms, with client names for member ids. Pure.

Sentences contain no member ids, group names or times, because those differ between runs. They are in a finding's `detail`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from groupproof.harness.judging.oracle.answer_diff import Difference
from groupproof.harness.judging.oracle.recorded_choices import NEW_ID, is_usual
from groupproof.harness.judging.oracle.replay_result import Divergence, ReplayResult, Step
from groupproof.harness.judging.oracle.tolerance import Tolerance
from groupproof.harness.model.requirement_levels import MOST_SEVERE
from groupproof.harness.model.verdicts import Finding, Proof, Verdict
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerState
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.vocabulary import Api, ErrorCode, GroupState, Level, error_named
from groupproof.protocol.wire.error_responses import error_of
from groupproof.protocol.wire.messages import JoinGroupRequest

__all__ = ["Prediction", "finding_of", "idle_findings", "open_findings", "predictions_of", "unusual_ids"]

_PROOFS: Final = {"late": Proof.TIMING, "slow": Proof.TIMING, "missing": Proof.LIVENESS, "closed": Proof.LIVENESS}
_UUID: Final = re.compile(r"[\w.-]*\b[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_IN_BRACKETS: Final = re.compile(r"\[([^\]]*)\]")
_HEX_ID: Final = re.compile(r"[\w.-]*\b(?:[0-9a-fA-F]{32}|0x[0-9a-f]{6,16})\b")
_TOPIC_ENTRY: Final = "topic_partitions["
_PENDING: Final = "PEND-05"
"""The requirement that is broken when the join phase ends too early and only pending members had not joined."""
_OF_ONE_REQUEST: Final = {"STATIC-11": Api.JOIN_GROUP}
"""Requirements that are about one request. Where Kafka answers other requests so too, that is advice.

A member with an instance id that nobody has learns in its next JoinGroup that it is unknown. Up to 2.8 Kafka looked there only (pull request 9958).
"""
_SAME_ELSEWHERE: Final = {
    Api.DESCRIBE_GROUPS: frozenset({"protocol_type", "protocol_data", "member_metadata", "member_assignment"}),
    Api.LIST_GROUPS: frozenset({"protocol_type"}),
    Api.CONSUMER_GROUP_DESCRIBE: frozenset({"assignor_name", "topic_name", "subscribed_topic_regex"}),
}
_TARGET: Final = ".target_assignment"
_TARGET_EPOCH: Final = "assignment_epoch"
_SHORT: Final = 40
_UNREAD: Final = "INV-01"
_NAMED_MAX: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The rules' answer to one request: `expected` at `due_ms`. Both are None where the request is parked to the end.

    `seq` is the observation of the request and `sentence` the text of the whole. `parked` says until when it is parked, empty for an immediate
    answer.
    """

    seq: int
    group: str
    client: str
    label: str
    api: Api
    version: int
    at_ms: int
    due_ms: int | None
    expected: Mapping[str, Any] | None
    parked: str
    rule: str
    requirement: str
    sentence: str


def predictions_of(group: str, replay: ReplayResult) -> Iterator[Prediction]:
    for step in replay.steps:
        exchange, parked = step.exchange, _parked(step, replay.names)
        yield Prediction(
            seq=exchange.request.seq, group=group, client=exchange.client, label=exchange.label, api=exchange.api, version=exchange.version,
            at_ms=step.at_ms, due_ms=step.due_ms, expected=step.expected, parked=parked, rule=step.rule, requirement=step.requirement,
            sentence=f"{_asked(step)}: {_expected(step, replay.names)}",
        )  # fmt: skip


def finding_of(divergence: Divergence, replay: ReplayResult) -> Finding:
    """Return the finding of a divergence: of the broken rule, as severe as its requirement."""
    step = divergence.step
    if divergence.kind == "lost":
        return _lost(divergence)
    rule, requirement = _broken(divergence)
    verdict = MOST_SEVERE[_level(requirement, step.exchange.api)]
    return Finding(
        verdict=Verdict.NON_STRICT if verdict is Verdict.FAILED and _is_mild(divergence) else verdict,
        requirement=requirement,
        expected=f"{_asked(step)}: {_TELL_EXPECTED.get(divergence.kind, _expected)(step, replay.names)}.",
        observed=f"{_asked(step)}: {_observed(divergence, replay.names)}.",
        proof=_PROOFS.get(divergence.kind, Proof.SAFETY),
        seq=step.exchange.seq,
        detail=_detail(divergence, rule),
    )


def _level(requirement: str, api: Api) -> Level:
    """Return how severe it is that an answer to the API breaks the requirement."""
    return Level.SHOULD if _OF_ONE_REQUEST.get(requirement, api) is not api else by_id(requirement).level


def _lost(divergence: Divergence) -> Finding:
    """Return the finding that the oracle could follow the history no further. All answers before are as expected."""
    step, text = divergence.step, "after which the rules can't follow the broker any more"
    return Finding(
        verdict=Verdict.INCONCLUSIVE, requirement=step.requirement or step.answer_requirement or _UNREAD, seq=step.exchange.request.seq,
        expected="The answers are those of a broker that keeps its own group in order.", observed=f"{_asked(step)}: {text}.",
        detail=f"{_asked(step)}: {text}: {divergence.why} ({step.exchange.label})",
    )  # fmt: skip


def _is_mild(divergence: Divergence) -> bool:
    """Return whether the divergence breaks no rule: only administrators see it, a request stays parked for which nothing has changed, or an
    answer without a deadline is slow."""
    return _is_only_shown(divergence) or _waits_on(divergence) or divergence.kind == "slow"


def _is_only_shown(divergence: Divergence) -> bool:
    """Return whether only administrators see the difference and the group's members are not affected."""
    elsewhere = _SAME_ELSEWHERE.get(divergence.step.exchange.api, frozenset())
    rest = [difference for difference in divergence.differences if difference.field not in elsewhere]
    return bool(divergence.differences) and (not rest or _is_early_target(rest, divergence.step))


def _waits_on(divergence: Divergence) -> bool:
    """Return whether a request stays parked in a classic group after the group refused a consumer: nothing has changed for this request.

    Kafka answers it nevertheless: `convertToConsumerGroup` completes parked requests before it checks whether the group can be converted. CGG-15
    asks for that only at an upgrade.
    """
    step = divergence.step
    event, _, row = step.answer_rule.partition("/")
    if event != Api.CONSUMER_GROUP_HEARTBEAT.title or row.endswith("/upgrades") or step.exchange.api not in (Api.JOIN_GROUP, Api.SYNC_GROUP):
        return False
    answered_ms, due_ms = step.exchange.answered_ms, step.due_ms
    return divergence.kind == "missing" or (answered_ms is not None and due_ms is not None and answered_ms > due_ms + Tolerance().prompt_ms)


def _is_early_target(rest: Sequence[Difference], step: Step) -> bool:
    """Return whether the group already has its target where Kafka computes it with the next heartbeat: KIP-848 does not fix the moment.

    A group is Assigning while its epoch is above that of its target (CGD-04): the state must agree with the epochs beside it.
    """
    if step.exchange.api is not Api.CONSUMER_GROUP_DESCRIBE:
        return False
    group_epochs = {int(group["group_epoch"]) for group in (step.expected or {}).get("groups", ())}
    ahead = [
        int(difference.observed) for difference in rest if difference.field == _TARGET_EPOCH and int(difference.observed) > int(difference.expected)
    ]
    is_settled = bool(ahead) and set(ahead) <= group_epochs
    return (
        bool(ahead) and max(ahead) <= max(group_epochs, default=0) and all(_is_of_a_target(difference, is_settled=is_settled) for difference in rest)
    )


def _is_of_a_target(difference: Difference, *, is_settled: bool) -> bool:
    if difference.field == "group_state":
        return is_settled and difference.expected == ConsumerState.ASSIGNING
    return difference.field == _TARGET_EPOCH or _TARGET in difference.path


def _broken(divergence: Divergence) -> tuple[str, str]:
    """Return the broken rule and its requirement."""
    step, after = divergence.step, divergence.step.after
    if divergence.kind == "unparked" and after is not None and after.pending and not after.absent:
        return step.rule, _PENDING
    is_own = divergence.kind == "unparked" or not step.answer_rule
    return (step.rule, step.requirement) if is_own else (step.answer_rule, step.answer_requirement)


def idle_findings(replay: ReplayResult) -> Iterator[Finding]:
    """Yield the differences beside the error code of a refusal, which no client reads."""
    for step in replay.steps:
        if step.idle:
            yield Finding(
                verdict=Verdict.INFORMATIONAL, requirement=step.answer_requirement or step.requirement, seq=step.exchange.seq,
                expected=f"{_asked(step)}: {_expected(step, replay.names)}.",
                observed=f"{step.exchange.api.title} refused: {_listed(step.idle, replay.names)}, which no client reads.",
            )  # fmt: skip


def open_findings(replay: ReplayResult) -> Iterator[Finding]:
    """Yield the answers that differ from the release's and are as correct: each kind of answer once."""
    kinds: set[tuple[Api, int, int, str]] = set()
    for step in replay.steps:
        exchange = step.exchange
        if step.instead is None:
            continue
        kind = exchange.api, error_of(exchange.api, step.expected or {}), error_of(exchange.api, exchange.answer or {}), step.instead.words
        if kind in kinds:
            continue
        kinds.add(kind)
        yield Finding(
            verdict=MOST_SEVERE[step.instead.level], requirement=step.instead.requirement, seq=exchange.seq,
            expected=f"{_asked(step)}: {step.instead.expected or _expected(step, replay.names)}.",
            observed=f"{_asked(step)}: {_answer(exchange.answer or {}, exchange.api, replay.names)}, {step.instead.words}.",
            detail=f"{exchange.label}: rule {step.rule}",
        )  # fmt: skip


def unusual_ids(replay: ReplayResult) -> Iterator[Finding]:
    """Yield one finding if the broker's member ids have another form than Kafka's. Any form is legal."""
    for step in replay.steps:
        exchange, message = step.exchange, step.exchange.message
        answer = exchange.answer or {}
        if not isinstance(message, JoinGroupRequest) or message.member_id or exchange.code not in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            continue
        prefixes = [exchange.client, message.group_instance_id or exchange.client]
        if not any(is_usual(str(answer.get("member_id", "")), prefix) for prefix in prefixes):
            yield Finding(
                verdict=Verdict.INFORMATIONAL, requirement="JOIN-03", seq=exchange.seq, expected="A member id is the client id and a UUID.",
                observed="Member ids have another form.", detail=str(answer.get("member_id")),
            )  # fmt: skip
            return


# Sentences -------------------------------------------------------------------------------------------------------------------------


def _asked(step: Step) -> str:
    exchange, before = step.exchange, step.before
    where = "no group" if before is None else f"generation {before.generation}, {before.state.value}"
    return f"{exchange.api.title} of {exchange.client} ({where})"


def _expected(step: Step, names: Mapping[str, str]) -> str:
    parked = _parked(step, names)
    if parked and step.answer_rule and step.expected is not None:
        return f"parked {parked}, then {_answer(step.expected, step.exchange.api, names)}"
    if parked or step.expected is None:
        return f"parked {parked}".rstrip()
    return _answer(step.expected, step.exchange.api, names)


def _only_parked(step: Step, names: Mapping[str, str]) -> str:
    return f"parked {_parked(step, names)}".rstrip()


_TELL_EXPECTED: Final = {"unparked": _only_parked}


def _parked(step: Step, names: Mapping[str, str]) -> str:
    """Return until when the request is parked, empty for an immediate answer."""
    group = step.after
    if group is None or step.due_ms == step.at_ms:
        return ""
    if step.exchange.api is Api.SYNC_GROUP:
        return f"until {names.get(group.leader or '', 'the leader')} syncs"
    if group.state is not GroupState.PREPARING_REBALANCE:
        return "until the join phase ends"
    absent, pending = group.absent, [names.get(name, "a newcomer") for name in group.pending]
    if absent:
        return f"until {_and(absent)} rejoin{'s' if len(absent) == 1 else ''}"
    return f"until {_and(pending)} join{'s' if len(pending) == 1 else ''}" if pending else "until the initial delay ends"


def _observed(divergence: Divergence, names: Mapping[str, str]) -> str:
    exchange = divergence.step.exchange
    if divergence.kind == "closed":
        return "the broker closed the connection"
    if divergence.kind == "missing" or exchange.answer is None:
        return "no answer"
    if divergence.kind in ("early", "late", "slow"):
        return f"{_answer(exchange.answer, exchange.api, names)}, too {'early' if divergence.kind == 'early' else 'late'}"
    if divergence.kind == "unparked" or any(difference.path == "error_code" for difference in divergence.differences):
        return _answer(exchange.answer, exchange.api, names)
    return f"{_answer(exchange.answer, exchange.api, names)}, with {_listed(divergence.differences, names)}"


def _listed(found: Sequence[Difference], names: Mapping[str, str]) -> str:
    return _and(
        [
            f"{_named(difference.path, names)} {_value(difference.observed, names)} instead of {_value(difference.expected, names)}"
            for difference in _by_topic(found, names)
        ]
    )


def _by_topic(found: Sequence[Difference], names: Mapping[str, str]) -> list[Difference]:
    """Return the differences with those of topics sorted by topic name: topic ids are random, so that their order differs between runs."""
    of_topics = iter(
        sorted((difference for difference in found if _TOPIC_ENTRY in difference.path), key=lambda difference: _named(difference.path, names))
    )
    return [next(of_topics) if _TOPIC_ENTRY in difference.path else difference for difference in found]


def _answer(body: Mapping[str, Any], api: Api, names: Mapping[str, str]) -> str:
    """Return an answer's error code; for a successful JoinGroup also its generation and leader."""
    code = error_of(api, body)
    if code or api is not Api.JOIN_GROUP:
        return f"{code} {error_named(code)}" if code else "0"
    return f"0 with generation {body.get('generation_id')}, leader {_value(body.get('leader', ''), names)}"


def _value(value: Any, names: Mapping[str, str]) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes {value[:8].hex()}{'…' if len(value) > 8 else ''}" if value else "no bytes"
    if isinstance(value, Mapping):
        return "an entry"
    text = _named(str(value) if value != "" else '""', names)
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def _named(text: str, names: Mapping[str, str]) -> str:
    """Replace member ids by the names of their clients."""
    if NEW_ID in text:
        return NEW_ID
    if text in names:
        return names[text]
    text = _IN_BRACKETS.sub(lambda found: f"[{'/'.join(names.get(part, part) for part in found[1].split('/'))}]", text)
    return _HEX_ID.sub("an unknown member", _UUID.sub("an unknown member", text))


def _and(words: Sequence[str]) -> str:
    if len(words) > _NAMED_MAX:
        words = [*words[:_NAMED_MAX], f"{len(words) - _NAMED_MAX} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _detail(divergence: Divergence, rule: str) -> str:
    step, exchange = divergence.step, divergence.step.exchange
    times = f"sent at {exchange.request.at_ms:.0f} ms"
    times += f", answered at {exchange.answered_ms:.0f} ms" if exchange.answered_ms is not None else f", unanswered until {exchange.gone_ms:.0f} ms"
    times += f", due at {step.due_ms} ms" if step.due_ms is not None else ""
    fields = "; ".join(
        f"{difference.path}: expected {difference.expected!r}, got {difference.observed!r}" for difference in divergence.differences[:5]
    )
    return f"{exchange.label}: rule {rule}; {times}" + (f"; {fields}" if fields else "")
