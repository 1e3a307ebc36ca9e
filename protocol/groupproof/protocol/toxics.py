"""What can be done to the bytes of a connection: Toxiproxy's toxics, and a way that is down. Data only, pure.

`harness.impaired` does it to streams in memory and `chaos.network` has a Toxiproxy do it, to the same effect. Source of the kinds and of their
attributes: Toxiproxy 2's documentation ("Toxics").
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

__all__ = [
    "DOWNSTREAM", "TOXICS", "UPSTREAM", "Stream", "Toxic", "bandwidth", "down", "latency", "limit_data", "reset_peer", "slicer", "slow_close",
    "timeout", "toxic_from_json", "toxic_to_json",
]  # fmt: skip

Stream = Literal["upstream", "downstream"]
UPSTREAM: Final[Stream] = "upstream"
"""From the client to the broker."""
DOWNSTREAM: Final[Stream] = "downstream"
"""From the broker to the client."""

TOXICS: Final[Mapping[str, tuple[str, ...]]] = {
    "latency": ("latency", "jitter"),
    "bandwidth": ("rate",),
    "slow_close": ("delay",),
    "timeout": ("timeout",),
    "reset_peer": ("timeout",),
    "slicer": ("average_size", "size_variation", "delay"),
    "limit_data": ("bytes",),
    "down": (),
}
"""Each kind with the names of its attributes: whole numbers, 0 where they are not given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic:
    """One thing done to the bytes of one stream; `toxicity` is the share of the connections that it befalls.

    A way that is `down` has no streams: its connections are cut, and new ones refused.
    """

    kind: str
    attributes: Mapping[str, int] = field(default_factory=dict)
    stream: Stream = DOWNSTREAM
    toxicity: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.stream}"


def latency(latency_ms: int, *, jitter_ms: int = 0, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Delay all bytes by `latency_ms`, give or take `jitter_ms`."""
    return Toxic(kind="latency", attributes={"latency": latency_ms, "jitter": jitter_ms}, stream=stream, toxicity=toxicity)


def bandwidth(kb_per_s: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Let through `kb_per_s` kilobytes a second; 0 stops the stream and keeps the connection."""
    return Toxic(kind="bandwidth", attributes={"rate": kb_per_s}, stream=stream, toxicity=toxicity)


def slow_close(delay_ms: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Pass the end of the connection on only after `delay_ms`."""
    return Toxic(kind="slow_close", attributes={"delay": delay_ms}, stream=stream, toxicity=toxicity)


def timeout(timeout_ms: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Let nothing through, and close the connection after `timeout_ms`; with 0 it stays open, a black hole."""
    return Toxic(kind="timeout", attributes={"timeout": timeout_ms}, stream=stream, toxicity=toxicity)


def reset_peer(timeout_ms: int = 0, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Reset the connection (TCP RST) after `timeout_ms`."""
    return Toxic(kind="reset_peer", attributes={"timeout": timeout_ms}, stream=stream, toxicity=toxicity)


def slicer(average_bytes: int, *, variation_bytes: int = 0, delay_us: int = 0, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Cut what passes into pieces of about `average_bytes`, `delay_us` microseconds apart."""
    attributes = {"average_size": average_bytes, "size_variation": variation_bytes, "delay": delay_us}
    return Toxic(kind="slicer", attributes=attributes, stream=stream, toxicity=toxicity)


def limit_data(limit_bytes: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Close the connection once `limit_bytes` have passed."""
    return Toxic(kind="limit_data", attributes={"bytes": limit_bytes}, stream=stream, toxicity=toxicity)


def down() -> Toxic:
    """Cut every connection of the way, and refuse new ones."""
    return Toxic(kind="down")


def toxic_to_json(toxic: Toxic) -> dict[str, Any]:
    """Return the toxic as schedule files and scenarios write it: its attributes beside its kind, defaults left out."""
    value: dict[str, Any] = {"kind": toxic.kind, **toxic.attributes}
    if toxic.stream != DOWNSTREAM:
        value["stream"] = toxic.stream
    if toxic.toxicity != 1.0:
        value["toxicity"] = toxic.toxicity
    return value


def toxic_from_json(value: Mapping[str, Any]) -> Toxic:
    """Raise `ValueError` that names what is wrong."""
    attributes = dict(value)
    kind, stream, toxicity = attributes.pop("kind", None), attributes.pop("stream", DOWNSTREAM), attributes.pop("toxicity", 1.0)
    if kind not in TOXICS:
        raise ValueError(f"not a toxic: {kind!r} is none of {', '.join(TOXICS)}")
    if stream not in (UPSTREAM, DOWNSTREAM):
        raise ValueError(f"not a toxic: a stream is {UPSTREAM} or {DOWNSTREAM}, not {stream!r}")
    if not isinstance(toxicity, int | float) or isinstance(toxicity, bool) or not 0 <= toxicity <= 1:
        raise ValueError(f"not a toxic: toxicity is a share of the connections from 0 to 1, not {toxicity!r}")
    for name, item in attributes.items():
        _check(kind, name, item)
    return Toxic(kind=kind, attributes=attributes, stream=stream, toxicity=float(toxicity))


def _check(kind: str, name: str, value: object) -> None:
    kinds = TOXICS[kind]
    if name not in kinds:
        raise ValueError(f"not a toxic: {kind} has no {name!r}, {'but ' + ', '.join(kinds) if kinds else 'nor anything else to say'}")
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"not a toxic: {kind} needs a whole number from 0 on as {name}, not {value!r}")
