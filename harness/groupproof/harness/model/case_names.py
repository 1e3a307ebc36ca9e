"""The names that a client observes in one run of a case: its group, its topics and an error code that no release of Kafka has. Pure.

A case is written with the same few names, so a client could detect by them that it is under test. Each run therefore draws names from its seed. The
plan runs with the drawn names, the head of the trace maps them, and judges read the trace with the names of the written case.

The drawn names keep what depends on a name: the order of topics, which assignors use, and the node that coordinates the group (FIND-02).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec

from groupproof.harness.model.plan import DEFAULT_NAMES, Append, Arm, Await, Command, GroupSettled, Grow, Matches, Member, Plan, Reconciled, Step
from groupproof.protocol.faults import Action, Answer, Fault
from groupproof.protocol.java_hash import java_hash
from groupproof.protocol.trace import Observation, Trace
from groupproof.protocol.vocabulary import ErrorCode
from groupproof.protocol.wire.blob_reader import BlobError
from groupproof.protocol.wire.embedded.connect_protocol import (
    ConnectAssignment,
    decode_connect_assignment,
    decode_worker_state,
    encode_connect_assignment,
    encode_worker_state,
)
from groupproof.protocol.wire.subscription import decode_assignment, decode_subscription, encode_assignment, encode_subscription

__all__ = ["NAMES", "CaseNames", "as_written", "drawn"]

NAMES: Final = "names"
"""The kit's event at the head of a trace that maps the drawn names."""

_GROUPS: Final = ("accounts", "alerts", "audit", "billing", "checkout", "exports", "fraud", "ledger", "loader", "mailer", "reports", "search")
_TOPICS: Final = ("bids", "carts", "clicks", "devices", "invoices", "orders", "payments", "returns", "shipments", "trades", "users", "visits")

_CODES: Final = range(900, 32_000)
_OFFSETS_PARTITIONS: Final = 50
"""The number of partitions over which Kafka distributes groups (`offsets.topic.num.partitions`). The leader of a group's partition is its
coordinator.
"""

_CODE_KEYS: Final = frozenset({"code", "error", "error_code"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseNames:
    """Maps each written name to its drawn name. Empty where nothing is drawn."""

    group: Mapping[str, str] = field(default_factory=dict)
    topics: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[int, int] = field(default_factory=dict)

    def plan(self, plan: Plan) -> Plan:
        """Return the plan with the drawn names in place of the written ones."""
        put = _Words({**self.group, **self.topics}, self.codes).value
        return replace(
            plan,
            members=tuple(_member(member, put) for member in plan.members),
            steps=tuple(_step(step, put) for step in plan.steps),
            topics=put(plan.topics),
        )

    def written(self, trace: Trace) -> Trace:
        """Return the trace with the written names in place of the drawn ones."""
        words = {name: written for written, name in (*self.group.items(), *self.topics.items())}
        back = _Words(words, {code: written for written, code in self.codes.items()}, within=True)
        return [back.observation(obs) for obs in trace]


def drawn(plan: Plan, seed: int) -> CaseNames:
    """Return names for everything that `plan` names, drawn from `seed`, the seed of the case in the run."""
    topics = sorted(_topics_of(plan))
    words = sorted(_several(_TOPICS, len(topics), seed))
    return CaseNames(
        group={group: _group(group, seed) for group in sorted(_groups_of(plan))},
        topics={topic: f"{word}-{_number(seed, topic) % 90 + 10}" for topic, word in zip(topics, words, strict=True)},
        codes={code: _code(seed, code) for code in sorted(_codes_of(plan))},
    )


def as_written(trace: Trace) -> Trace:
    """Return a case's trace with the written names. Return it unchanged where none were drawn."""
    names = next((obs.body for obs in trace if obs.who == "kit" and obs.body.get("name") == NAMES), None)
    return trace if names is None else msgspec.convert(names, CaseNames, strict=False).written(trace)


# What a plan names.


def _groups_of(plan: Plan) -> set[str]:
    return {str(member.settings.get("group", DEFAULT_NAMES["group"])) for member in plan.members}


def _topics_of(plan: Plan) -> set[str]:
    subscribed = {topic for member in plan.members for topic in member.settings.get("topics", DEFAULT_NAMES["topics"])}
    resubscribed = {topic for step in plan.steps if isinstance(step, Command) for topic in step.fields.get("topics", ())}
    changed = {step.topic for step in plan.steps if isinstance(step, Grow | Append)}
    return {*plan.topics, *subscribed, *resubscribed, *changed}


def _codes_of(plan: Plan) -> Iterator[int]:
    """Yield the error codes in the plan's answers that no release has."""
    for step in plan.steps:
        if isinstance(step, Arm) and isinstance(step.fault.action, Answer):
            codes = (step.fault.action.error_code, *_codes_in(step.fault.action.body))
            yield from (code for code in codes if code not in _ERROR_CODES)


def _codes_in(value: Any) -> Iterator[int]:
    if isinstance(value, Mapping):
        yield from (item for key, item in value.items() if key in _CODE_KEYS and isinstance(item, int))
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for entry in value:
            yield from _codes_in(entry)


_ERROR_CODES: Final = frozenset(int(code) for code in ErrorCode)


# The draw.


def _number(seed: int, drawn_for: str) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed}/names/{drawn_for}".encode()).digest()[:8], "big")


def _several(words: tuple[str, ...], count: int, seed: int) -> list[str]:
    """Draw `count` different words."""
    return sorted(words, key=lambda word: _number(seed, word))[:count]


def _group(group: str, seed: int) -> str:
    """Draw a name for a group, so that the group keeps the coordinator node of `group`."""
    (word,) = _several(_GROUPS, 1, seed)
    place = _place(group)
    tries = (f"{word}-{_number(seed, f'{group}/{count}') & 0xFFFF:04x}" for count in range(1 << 16))
    return next(name for name in tries if _place(name) == place)


def _place(group: str) -> int:
    return abs(java_hash(group)) % _OFFSETS_PARTITIONS


def _code(seed: int, code: int) -> int:
    tries = (_CODES[_number(seed, f"{code}/{count}") % len(_CODES)] for count in range(1 << 16))
    return next(try_number for try_number in tries if try_number not in _ERROR_CODES and try_number != code)


# The plan in other names.

_Put = Callable[[Any], Any]
_WORD: Final = re.compile(r"\w+")
"""A topic in a case's regular expression."""


def _member(member: Member, put: _Put) -> Member:
    settings = put({**DEFAULT_NAMES, **member.settings})
    if "pattern" in settings:
        settings["pattern"] = _WORD.sub(lambda word: str(put(word[0])), settings["pattern"])
    return replace(member, settings=settings)


def _step(step: Step, put: _Put) -> Step:
    if isinstance(step, Grow | Append):
        return replace(step, topic=put(step.topic))
    if isinstance(step, Command):
        return replace(step, fields=put(step.fields))
    if isinstance(step, Arm):
        return replace(step, fault=_fault(step.fault, put))
    return _await(step, put) if isinstance(step, Await) else step


def _fault(fault: Fault, put: _Put) -> Fault:
    selector = fault.selector
    renamed = put({"group": selector.group, "error": selector.error})
    return replace(fault, selector=replace(selector, **renamed), action=_action(fault.action, put))


def _action(action: Action, put: _Put) -> Action:
    return replace(action, **put({"error_code": action.error_code, "body": action.body})) if isinstance(action, Answer) else action


def _await(step: Await, put: _Put) -> Await:
    until = step.until
    if isinstance(until, Matches):
        until = replace(until, **put({"error": until.error, "where": until.where}))
    elif isinstance(until, GroupSettled | Reconciled):
        until = replace(until, topics=put(until.topics))
    return replace(step, until=until)


# Replacement of names.


class _Words:
    """Replaces names and error codes, in JSON values and in the blobs of the consumer protocol and of Kafka Connect.

    By default a text is replaced only as a whole. With `within`, names are also replaced inside longer texts, and codes inside the texts of shim
    events. That is possible only for drawn names, because they are unmistakable.
    """

    def __init__(self, names: Mapping[str, str], codes: Mapping[int, int], *, within: bool = False) -> None:
        self._names = names
        self._codes = codes
        self._within = within
        self._texts: dict[str, str] = {}
        self._blobs: dict[bytes, bytes] = {}
        self._framed = {_framed(old): _framed(new) for old, new in names.items()}
        self._code_pattern = re.compile("|".join(rf"(?<!\d){code}(?!\d)" for code in codes)) if codes else None

    def observation(self, obs: Observation) -> Observation:
        is_told = obs.who in ("shim", "kit")
        if is_told and obs.body.get("name") == NAMES:
            return obs
        # Most rows name only the group, many not even that. Only the changed fields are built again.
        changed: dict[str, Any] = {}
        if obs.group is not None and (group := self._text(obs.group)) != obs.group:
            changed["group"] = group
        if obs.member is not None and (member := self._text(obs.member)) != obs.member:
            changed["member"] = member
        if self._codes and obs.error is not None:
            changed["error"] = self._codes.get(obs.error, obs.error)
        if obs.partitions:
            changed["partitions"] = tuple([(self._text(topic), partition) for topic, partition in obs.partitions])
        if obs.offsets:
            changed["offsets"] = tuple([(self._text(topic), partition, offset) for topic, partition, offset in obs.offsets])
        if obs.body:
            body = self._entries(obs.body)
            changed["body"] = self._with_codes(body) if is_told else body
        if obs.detail is not None and (detail := self._text(obs.detail)) != obs.detail:
            changed["detail"] = detail
        return msgspec.structs.replace(obs, **changed) if changed else obs

    def value(self, value: Any, *, is_code: bool = False) -> Any:
        """Return the value with the names replaced. A number is an error code only where its key says so."""
        if value is None or (type(value) is int and not is_code):
            return value
        if isinstance(value, str):
            return self._text(value)
        if type(value) is dict:
            return self._entries(value)
        if isinstance(value, bytes):
            renamed = self._blobs.get(value)  # a member joins with the same subscription each time, and peers receive it too
            if renamed is None:
                renamed = self._blobs[value] = self._blob(value)
            return renamed
        if isinstance(value, Mapping):
            return self._entries(value)
        if isinstance(value, list | tuple):
            return type(value)([self.value(item) for item in value])
        return self._codes.get(value, value) if is_code and isinstance(value, int) else value

    def _entries(self, entries: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return entries with the names replaced. Most values of a trace are known texts or numbers; these need no call."""
        texts, codes, named = self._texts, self._codes, {}
        for key, item in entries.items():
            kind = type(item)
            if kind is str:
                item = texts.get(item) or self._text(item)
            elif kind is int:
                if codes and _is_code(key):
                    item = codes.get(item, item)
            elif item is not None and kind is not bool:
                item = self.value(item, is_code=bool(codes) and _is_code(key))
            named[texts.get(key) or self.value(key)] = item
        return named

    def _text(self, text: str) -> str:
        if not self._within:
            return self._names.get(text, text)
        renamed = self._texts.get(text)  # a trace has few texts, each of them many times
        if renamed is None:
            renamed = text
            for old, new in self._names.items():
                renamed = renamed.replace(old, new)
            self._texts[text] = renamed
        return renamed

    def _with_codes(self, value: Any) -> Any:
        """Return a shim event with the codes in its texts replaced. `CODE_4711` is a code, whatever text surrounds the number."""
        if self._code_pattern is None:
            return value
        if isinstance(value, str):
            return self._code_pattern.sub(lambda found: str(self._codes[int(found[0])]), value)
        if isinstance(value, Mapping):
            return {key: self._with_codes(item) for key, item in value.items()}
        return type(value)(self._with_codes(item) for item in value) if isinstance(value, list | tuple) else value

    def _blob(self, blob: bytes) -> bytes:
        """Return a subscription or an assignment with the names replaced. Its user data may change in length. In other blobs, names are texts with
        a length prefix.
        """
        if not any(old in blob for old in self._framed):
            return blob
        for renamed in (self._subscription, self._assignment, self._worker_state, self._connect_assignment):
            try:
                if (made := renamed(blob)) is not None:
                    return made
            except BlobError:
                continue
        return self._flat(blob)

    def _flat(self, blob: bytes) -> bytes:
        for old, new in self._framed.items():
            blob = blob.replace(old, new)
        return blob

    def _subscription(self, blob: bytes) -> bytes | None:
        read = decode_subscription(blob)
        if encode_subscription(read) != blob:
            return None
        user_data = None if read.user_data is None else self._flat(read.user_data)
        return encode_subscription(replace(read, topics=self.value(read.topics), owned=self.value(read.owned), user_data=user_data))

    def _assignment(self, blob: bytes) -> bytes | None:
        read = decode_assignment(blob)
        if encode_assignment(read) != blob:
            return None
        user_data = None if read.user_data is None else self._flat(read.user_data)
        return encode_assignment(replace(read, partitions=self.value(read.partitions), user_data=user_data))

    def _worker_state(self, blob: bytes) -> bytes | None:
        read = decode_worker_state(blob)
        if read.assignment is None or encode_worker_state(read) != blob:
            return None
        return encode_worker_state(replace(read, assignment=self._with_jobs(read.assignment)))

    def _connect_assignment(self, blob: bytes) -> bytes | None:
        read = decode_connect_assignment(blob)
        return encode_connect_assignment(self._with_jobs(read)) if encode_connect_assignment(read) == blob else None

    def _with_jobs(self, read: ConnectAssignment) -> ConnectAssignment:
        return replace(read, assigned=self.value(read.assigned), revoked=self.value(read.revoked))


def _is_code(key: Any) -> bool:
    return isinstance(key, str) and key.rpartition(".")[2] in _CODE_KEYS


def _framed(name: str) -> bytes:
    """Return a name as Kafka's older formats encode a text: with its length before it."""
    encoded = name.encode()
    return len(encoded).to_bytes(2, "big") + encoded
