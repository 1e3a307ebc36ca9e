"""The kinds of faults in scenarios: their fields, and the plan steps that they become. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from groupproof.chaos.scenarios.scenario import Fault
from groupproof.harness.model.plan import Arm, BreakBroker, Heal, Impair, Mend, Step
from groupproof.protocol import toxics
from groupproof.protocol.faults import Action, Answer, Cut, Duplicate, Hold, Move, Selector, Silence
from groupproof.protocol.faults import Fault as FrameFault
from groupproof.protocol.toxics import DOWNSTREAM, UPSTREAM, Toxic
from groupproof.protocol.vocabulary import ErrorCode, api_named

__all__ = ["KINDS", "Clock", "Kind", "code_of", "names_of", "steps_of", "undo"]

Clock = Callable[[int | str], int]
"""Converts a number of milliseconds, or the name of a duration, to milliseconds."""

_Read = Callable[[Mapping[str, Any], Clock], Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of fault. `of` is where it acts: frames, bytes or machines (broker hosts); `make` returns its action from its fields."""

    says: str
    of: str
    fields: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    make: _Read


_SELECTS: Final = frozenset({"api", "direction", "nth", "count", "when", "role"})


def _frames(says: str, make: _Read, *fields: str, needs: tuple[str, ...] = ()) -> Kind:
    return Kind(says=says, of="frames", fields=_SELECTS | set(fields), needs=frozenset({"api", *needs}), make=make)


def _bytes(says: str, make: _Read, *fields: str, needs: tuple[str, ...] = ()) -> Kind:
    return Kind(says=says, of="bytes", fields=frozenset({"between", *fields}), needs=frozenset(needs), make=make)


def _machines(says: str, how: str) -> Kind:
    return Kind(says=says, of="machines", fields=frozenset({"node"}), make=lambda *_: how)


def _slow(how: Mapping[str, Any], clock: Clock) -> tuple[Toxic, ...]:
    delay, jitter = clock(how["latency"]), clock(how.get("jitter", 0))
    return tuple(toxics.latency(delay, jitter_ms=jitter, stream=stream) for stream in (UPSTREAM, DOWNSTREAM))


KINDS: Final[Mapping[str, Kind]] = {
    "answer": _frames("the coordinator's stead answers with an error", lambda how, _: Answer(error_code=code_of(how["error"])), "error", needs=("error",)),
    "hold": _frames("a frame is kept back", lambda how, clock: Hold(ms=None if "for" not in how else clock(how["for"])), "for"),
    "silence": _frames("from a frame on its connection answers nothing, and stays open", lambda *_: Silence()),
    "cut": _frames("the connection ends at a frame", lambda how, _: Cut(reset=how.get("reset", False)), "reset"),
    "duplicate": _frames("a request is processed twice", lambda *_: Duplicate()),
    "move": _frames(
        "the coordinator moves just before a frame",
        lambda how, _: Move(parked=how.get("parked", "answer"), state=how.get("state", "kept")), "parked", "state",
    ),
    "partition": _bytes("nothing goes through in either direction", lambda *_: (toxics.timeout(0, stream=UPSTREAM), toxics.timeout(0))),
    "mute": _bytes("what is sent does not arrive, answers do", lambda *_: (toxics.timeout(0, stream=UPSTREAM),)),
    "deaf": _bytes("what is sent arrives, answers do not", lambda *_: (toxics.timeout(0),)),
    "slow": _bytes("bytes take their time, in both directions", _slow, "latency", "jitter", needs=("latency",)),
    "thin": _bytes("so many kilobytes a second come through", lambda how, _: (toxics.bandwidth(how["rate"]),), "rate", needs=("rate",)),
    "trickle": _bytes(
        "bytes come in small pieces", lambda how, _: (toxics.slicer(how["size"], delay_us=how.get("delay_us", 0)),), "size", "delay_us", needs=("size",)
    ),
    "limit": _bytes("connections end after so many bytes", lambda how, _: (toxics.limit_data(how["bytes"]),), "bytes", needs=("bytes",)),
    "slow-close": _bytes("a connection's end takes its time", lambda how, clock: (toxics.slow_close(clock(how["delay"])),), "delay", needs=("delay",)),
    "reset": _bytes("connections are reset", lambda *_: (toxics.reset_peer(0),)),
    "down": _bytes("connections are cut, and new ones refused", lambda *_: (toxics.down(),)),
    "pause-broker": _machines("the coordinator's broker stands still", "pause"),
    "kill-broker": _machines("the coordinator's broker is killed, and started again at the healing", "kill"),
    "slow-disk": _machines("the coordinator's broker writes slowly", "slow-disk"),
}  # fmt: skip
"""Each kind of fault by its name in scenario files."""


def code_of(error: int | str) -> int:
    """Return an error's code from its number or Kafka's name; raise `KeyError` for an unknown name."""
    return error if isinstance(error, int) else int(ErrorCode[error])


def steps_of(fault: Fault, members: tuple[str, ...], clock: Clock) -> Iterator[Step]:
    """Yield the steps that begin `fault`; it acts on `members`, or on all without any."""
    kind = KINDS[fault.kind]
    if kind.of == "frames":
        for name, client in zip(names_of(fault, members), members or (None,), strict=True):
            yield Arm(fault=FrameFault(name=name, selector=_selector(fault.how, client), action=_action(fault, clock)))
    elif kind.of == "bytes":
        yield Impair(name=fault.name, toxics=kind.make(fault.how, clock), members=members)
    else:
        yield BreakBroker(name=fault.name, how=kind.make(fault.how, clock), node=fault.how.get("node"))


def names_of(fault: Fault, members: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fault's names in the plan: a fault on frames becomes one fault per member."""
    if KINDS[fault.kind].of == "frames" and len(members) > 1:
        return tuple(f"{fault.name}-{name}" for name in members)
    return (fault.name,)


def undo(fault: Fault, members: tuple[str, ...]) -> Iterator[Step]:
    """Yield the steps that end the fault."""
    for name in names_of(fault, members):
        yield Heal(fault=name) if KINDS[fault.kind].of == "frames" else Mend(name=name)


def _action(fault: Fault, clock: Clock) -> Action:
    action: Action = KINDS[fault.kind].make(fault.how, clock)
    return action


def _selector(how: Mapping[str, Any], client: str | None) -> Selector:
    count = how.get("count", 1)
    return Selector(
        api=api_named(how["api"]).title,
        direction=how.get("direction", "request"),
        nth=how.get("nth", 1),
        count=None if count == "all" else count,
        client=client,
        state=how.get("when"),
        role=how.get("role"),
    )
