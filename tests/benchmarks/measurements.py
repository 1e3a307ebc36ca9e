"""What a benchmark measures, as it travels from the process that measured to whoever prints, keeps or draws it.

A `Figure` is one quantity of one program, by rounds: the median is the figure, and how far the rounds lie apart is its noise. An `Aim` is a figure or a
ratio that has a bound. `PartRun` is one part of `make bench`, with what the machine did besides; `BenchRun` is a whole run, one line of `runs.jsonl`.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

__all__ = ["OWN", "RUNS", "Aim", "BenchRun", "Fault", "Figure", "Machine", "Measured", "Noise", "PartRun", "append_run", "merged", "read_runs"]

RUNS: Final = Path(__file__).with_name("runs.jsonl")
OWN: Final = "groupproof"


class Figure(msgspec.Struct, frozen=True, kw_only=True, tag="figure"):
    """One quantity of one program, in so many rounds."""

    name: str
    unit: str
    values: tuple[float, ...]
    subject: str = OWN

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def spread(self) -> float | None:
        """Return how far the rounds lie apart, as a share of the median; one round alone says nothing of it."""
        if len(self.values) < 2 or not self.median:
            return None
        return (max(self.values) - min(self.values)) / abs(self.median)


class Aim(msgspec.Struct, frozen=True, kw_only=True, tag="aim"):
    """What is aimed at: at least, or at most, so much; of several rounds the median counts."""

    name: str
    values: tuple[float, ...]
    bound: float
    is_least: bool

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def is_met(self) -> bool:
        return self.median >= self.bound if self.is_least else self.median <= self.bound


class Fault(msgspec.Struct, frozen=True, kw_only=True, tag="fault"):
    """What a program did instead of being measured."""

    name: str
    subject: str
    text: str


Measured = Figure | Aim | Fault


class Noise(msgspec.Struct, frozen=True, kw_only=True):
    """What the machine did while a part ran: processors that others kept busy, and how far the same work took now more and now less processor time."""

    others: float | None
    work_ms: float
    work_spread: float


class PartRun(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a run; `failed` says why it has no figures."""

    seconds: float
    noise: Noise
    figures: tuple[Figure, ...] = ()
    aims: tuple[Aim, ...] = ()
    faults: tuple[Fault, ...] = ()
    failed: str = ""


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run was: figures of two machines are not to be compared."""

    processor: str
    processors: int
    python: str

    @property
    def name(self) -> str:
        return f"{self.processors} × {self.processor}, Python {self.python}"


class BenchRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of `make bench`, of all parts or of some."""

    commit: str
    day: str
    machine: Machine
    parts: dict[str, PartRun]


def merged(measured: Iterable[Measured]) -> list[Measured]:
    """Return what several processes of one part measured: what has one name and subject is one, with all rounds."""
    found: dict[tuple[type[Measured], str, str], Measured] = {}
    for item in measured:
        key = (type(item), item.name, getattr(item, "subject", ""))
        earlier = found.get(key)
        found[key] = item if earlier is None else _with_rounds(earlier, item)
    return list(found.values())


def _with_rounds(earlier: Measured, item: Measured) -> Measured:
    if isinstance(earlier, Fault) or isinstance(item, Fault):
        return earlier
    return msgspec.structs.replace(earlier, values=(*earlier.values, *item.values))


def append_run(file: Path, run: BenchRun) -> None:
    """Add a run as one line."""
    with file.open("ab") as out:
        out.write(msgspec.json.encode(run) + b"\n")


def read_runs(file: Path) -> list[BenchRun]:
    """Return all runs, the oldest first."""
    decoder = msgspec.json.Decoder(BenchRun)
    return [decoder.decode(line) for line in file.read_bytes().splitlines() if line]
