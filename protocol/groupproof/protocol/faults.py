"""The frame filter: which frame a fault acts on, the action, and the receipt as proof.

Pure: the code that forwards frames (the reference coordinator's server, the tap) asks `FrameFilter.match` for each frame, performs the action, and
records the receipt. Faults are data, so that a plan, a schedule file and a scenario express them in the same JSON.
"""

from __future__ import annotations

import base64
import zlib
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, get_args

__all__ = [
    "Action", "Answer", "Corrupt", "Cut", "Drop", "Duplicate", "Fault", "Frame", "FrameFilter", "Hold", "Move", "Reorder", "Selector", "Silence",
    "corrupted", "fault_from_json", "fault_to_json",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The properties of a request or response that a selector can match.

    `state` is the group's, `role` leader or follower, both before the frame acts.
    """

    api: str
    direction: str  # "request" at its arrival, "response" when it is sent
    client: str = ""
    group: str | None = None
    member: str | None = None
    instance: str | None = None
    generation: int | None = None
    member_epoch: int | None = None  # in a dialect with epochs; below 0 the member leaves
    role: str | None = None
    state: str | None = None
    node: int | None = None
    connection: int | None = None
    error: int | None = None  # of a response
    assigned: int | None = None  # of a response: how many partitions it assigns


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """Matches frames whose named columns are equal; None matches all. It selects the `nth` matching frame (from 1) and `count - 1` more."""

    api: str
    direction: str = "request"
    nth: int = 1
    count: int | None = 1  # None: every one from the nth on
    client: str | None = None
    group: str | None = None
    member: str | None = None
    instance: str | None = None
    generation: int | None = None
    member_epoch: int | None = None
    role: str | None = None
    state: str | None = None
    node: int | None = None
    error: int | None = None
    assigned: int | None = None

    _COLUMNS: ClassVar[tuple[str, ...]] = (
        "api", "direction", "client", "group", "member", "instance", "generation", "member_epoch", "role", "state", "node", "error",
        "assigned",
    )  # fmt: skip

    def matches(self, frame: Frame) -> bool:
        wanted = ((getattr(self, name), getattr(frame, name)) for name in self._COLUMNS)
        return all(want is None or want == have for want, have in wanted)

    def takes(self, match_number: int) -> bool:
        """Return whether the fault acts on the `match_number`-th matching frame (from 1)."""
        return match_number >= self.nth and (self.count is None or match_number < self.nth + self.count)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Answer with `error_code`: in place of the coordinator for a request, in place of its answer for a response.

    `body` overrides fields of an answer that has more than its code (a member id with 79). In JSON its bytes are base64 after `b64:`.
    """

    kind: ClassVar[str] = "answer"
    error_code: int
    body: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Withhold the frame for `ms`, or until the fault is released (None). Later frames of its connection wait behind it."""

    kind: ClassVar[str] = "hold"
    ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """From this frame on, the connection accepts bytes and answers nothing, but stays open."""

    kind: ClassVar[str] = "silence"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Close the connection: at a request before the coordinator gets it, at a response after the coordinator acted and before the answer is sent.

    `reset` closes with RST rather than FIN.
    """

    kind: ClassVar[str] = "cut"
    reset: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicate:
    """Make the coordinator process the request twice. The second answer is dropped."""

    kind: ClassVar[str] = "duplicate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Drop the frame: a request never reaches the coordinator, an answer never the client. The connection stays open.

    No broker does so: it answers a connection's requests in their order, and TCP loses nothing between two answers. A client may give the connection up
    at the next answer, or stop (Java's NetworkClient: CorrelationIdMismatchException). Of a lost answer a case says `Silence`.
    """

    kind: ClassVar[str] = "drop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrupt:
    """Change `bytes` bytes of the frame's body, at places that `seed` selects. The header is unchanged, so the frame is still recognised."""

    kind: ClassVar[str] = "corrupt"
    seed: int = 0
    bytes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorder:
    """Withhold the frame until one of the same API and direction has passed on another connection, or for `ms`."""

    kind: ClassVar[str] = "reorder"
    ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """Move the coordinator to node `to` (None: the next one) before this frame continues.

    `parked`: "answer" answers parked requests with NOT_COORDINATOR (EMIG-02), "drop" closes their connections. `state`: "kept" loads the last stored
    generation at the new node (EMIG-03), "lost" loads nothing.
    """

    kind: ClassVar[str] = "move"
    to: int | None = None
    parked: str = "answer"
    state: str = "kept"


Action = Answer | Hold | Silence | Cut | Duplicate | Drop | Corrupt | Reorder | Move
_ACTIONS: dict[str, type[Any]] = {action.kind: action for action in get_args(Action)}

_CORRELATION_BYTES = 4
_CLIENT_ID_AT = 8  # after API key, version and correlation id


def corrupted(payload: bytes, action: Corrupt, direction: str) -> bytes | None:
    """Return the frame's payload with changed bytes in its body; None where the body is empty."""
    start = _CORRELATION_BYTES
    if direction == "request":
        length = int.from_bytes(payload[_CLIENT_ID_AT : _CLIENT_ID_AT + 2], "big", signed=True)
        start = _CLIENT_ID_AT + 2 + max(length, 0)
    start += 1  # the count of tagged fields in the header of newer versions
    if start >= len(payload) or action.bytes < 1:
        return None
    changed = bytearray(payload)
    for number in range(min(action.bytes, len(payload) - start)):
        chosen = zlib.crc32(f"{action.seed}/{number}".encode())
        at = start + (chosen + number) % (len(payload) - start)
        changed[at] = payload[at] ^ (chosen % 255 + 1)
    return bytes(changed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A named selector and action. Receipts, traces and checkers refer to the name."""

    name: str
    selector: Selector
    action: Action


@dataclass(slots=True)
class _ArmedFault:
    fault: Fault
    matches: int = 0


class FrameFilter:
    """The faults of one run, in the order of their arming. The first that selects a frame acts on it; every matching fault counts it."""

    def __init__(self) -> None:
        self._armed: dict[str, _ArmedFault] = {}

    def arm(self, fault: Fault) -> None:
        """Arm `fault` from the next frame on; raise `ValueError` for a name that is already armed."""
        if fault.name in self._armed:
            raise ValueError(f"a fault named {fault.name!r} is already armed")
        self._armed[fault.name] = _ArmedFault(fault)

    def disarm(self, name: str) -> None:
        """Disarm a fault. A name that is not armed is ignored, so that healing can be repeated."""
        self._armed.pop(name, None)

    def give_back(self, name: str) -> None:
        """Uncount the last match of `name`: its effect reached nobody, and the fault acts on the next match instead."""
        if name in self._armed:
            self._armed[name].matches -= 1

    def take_back(self, name: str) -> None:
        """Count an uncounted match again: its effect did reach the peer."""
        if name in self._armed:
            self._armed[name].matches += 1

    def match(self, frame: Frame) -> Fault | None:
        """Return the fault that acts on `frame`, and count the frame for every fault that it matches."""
        fault: Fault | None = None
        for armed in self._armed.values():
            if not armed.fault.selector.matches(frame):
                continue
            armed.matches += 1
            if fault is None and armed.fault.selector.takes(armed.matches):
                fault = armed.fault
        return fault


def fault_to_json(fault: Fault) -> dict[str, Any]:
    """Return the fault in the JSON of schedule files, without defaults."""
    selector = {name: value for name, value in asdict(fault.selector).items() if value != _DEFAULTS.get(name, None)}
    action = {"kind": fault.action.kind, **asdict(fault.action)}
    if "body" in action:
        action["body"] = {name: _to_text(value) for name, value in action["body"].items()}
    return {"name": fault.name, "on": selector, "do": action}


def fault_from_json(value: dict[str, Any]) -> Fault:
    """Return the fault in this JSON; raise `ValueError` that names the unknown or missing part."""
    try:
        action = dict(value["do"])
        if "body" in action:
            action["body"] = {name: _from_text(value) for name, value in action["body"].items()}
        made = _ACTIONS[action.pop("kind")](**action)
        return Fault(name=value["name"], selector=Selector(**value["on"]), action=made)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a fault: {error} in {value}") from error


def _to_text(value: Any) -> Any:
    if isinstance(value, bytes):
        return "b64:" + base64.b64encode(value).decode()
    return "txt:" + value if isinstance(value, str) and value.startswith(("b64:", "txt:")) else value


def _from_text(value: Any) -> Any:
    if isinstance(value, str) and value.startswith("b64:"):
        return base64.b64decode(value[4:])
    return value[4:] if isinstance(value, str) and value.startswith("txt:") else value


_DEFAULTS = asdict(Selector(api=""))
