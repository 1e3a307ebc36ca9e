"""Faults on the bytes of a connection: Toxiproxy's toxics, and an unavailable path. Data only, pure.

`harness.impaired` applies them to streams in memory, and `chaos.network` has a Toxiproxy apply them, to the same effect. Source of the kinds and
their attributes: Toxiproxy 2's documentation ("Toxics").
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
"""The attribute names of each kind. Attributes are whole numbers, 0 by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic:
    """One change of the bytes of one stream. `toxicity` is the share of the connections that it affects.

    A path that is `down` has no streams: its connections are cut, and new ones are refused.
    """

    kind: str
    attributes: Mapping[str, int] = field(default_factory=dict)
    stream: Stream = DOWNSTREAM
    toxicity: float = 1.0

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.stream}"


def latency(latency_ms: int, *, jitter_ms: int = 0, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Delay all bytes by `latency_ms`, plus or minus `jitter_ms`."""
    return Toxic(kind="latency", attributes={"latency": latency_ms, "jitter": jitter_ms}, stream=stream, toxicity=toxicity)


def bandwidth(kb_per_s: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Limit the stream to `kb_per_s` kilobytes a second. With 0 it stops, and the connection stays open."""
    return Toxic(kind="bandwidth", attributes={"rate": kb_per_s}, stream=stream, toxicity=toxicity)


def slow_close(delay_ms: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Delay the end of the connection by `delay_ms`."""
    return Toxic(kind="slow_close", attributes={"delay": delay_ms}, stream=stream, toxicity=toxicity)


def timeout(timeout_ms: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Pass no bytes, and close the connection after `timeout_ms`. With 0 it stays open."""
    return Toxic(kind="timeout", attributes={"timeout": timeout_ms}, stream=stream, toxicity=toxicity)


def reset_peer(timeout_ms: int = 0, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Reset the connection (TCP RST) after `timeout_ms`."""
    return Toxic(kind="reset_peer", attributes={"timeout": timeout_ms}, stream=stream, toxicity=toxicity)


def slicer(average_bytes: int, *, variation_bytes: int = 0, delay_us: int = 0, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Split the bytes into pieces of about `average_bytes`, `delay_us` microseconds apart."""
    attributes = {"average_size": average_bytes, "size_variation": variation_bytes, "delay": delay_us}
    return Toxic(kind="slicer", attributes=attributes, stream=stream, toxicity=toxicity)


def limit_data(limit_bytes: int, *, stream: Stream = DOWNSTREAM, toxicity: float = 1.0) -> Toxic:
    """Close the connection once `limit_bytes` have passed."""
    return Toxic(kind="limit_data", attributes={"bytes": limit_bytes}, stream=stream, toxicity=toxicity)


def down() -> Toxic:
    """Cut every connection of the path, and refuse new ones."""
    return Toxic(kind="down")


def toxic_to_json(toxic: Toxic) -> dict[str, Any]:
    """Return the toxic in the JSON of schedule files and scenarios: attributes beside the kind, without defaults."""
    value: dict[str, Any] = {"kind": toxic.kind, **toxic.attributes}
    if toxic.stream != DOWNSTREAM:
        value["stream"] = toxic.stream
    if toxic.toxicity != 1.0:
        value["toxicity"] = toxic.toxicity
    return value


def toxic_from_json(value: Mapping[str, Any]) -> Toxic:
    """Return the toxic in this JSON; raise `ValueError` that names the error."""
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
