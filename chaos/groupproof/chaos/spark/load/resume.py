"""The folder of a load and its sessions: an interrupted load continues where it stopped, under a run name of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import msgspec

from groupproof.chaos.spark.members.load_order import LoadOrder
from groupproof.chaos.spark.traces.trace_storage import Place
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage

__all__ = ["COORDINATOR", "FILE", "MEMBERS", "SCHEMA", "SUMMARY", "TAP", "LoadSession"]

FILE: Final = "load.json"
SUMMARY: Final = "summary.json"
SCHEMA: Final = "groupproof.load/1"
MEMBERS, COORDINATOR, TAP = "members", "coordinator", "tap"
"""The folders of the traces: the members', the coordinator's own, and a tap's between them."""


@dataclass(slots=True)
class LoadSession:
    """One session of a load in `folder`; `skip_s` is the part of the plan that is already over, in seconds."""

    folder: Place
    run: str
    skip_s: float
    _value: dict[str, Any]

    @classmethod
    def open(cls, output: str | Path, order: LoadOrder) -> LoadSession:
        """Begin a load in an empty folder, named by a path or a URI, or continue the same load after an interruption.

        Raise `WrongUsage` if it is finished, or if another load or anything else is there; `BrokenEnvironment` where nothing can be written.
        """
        folder = Place.of(output)
        file = folder / FILE
        try:
            folder.make()
            value = json.loads(file.read_text()) if file.is_file() else _new_record(folder, order)
        except OSError as error:
            raise BrokenEnvironment(f"can't write {folder.label}: {error.strerror or error}; choose another --output") from error
        except ValueError as error:
            raise WrongUsage(f"{file.label} is no load's: {error}; choose another --output") from error
        skip_s = _resumed(folder, value, order)
        run = f"load-{len(value['sittings']) + 1}"
        started = datetime.now(UTC).isoformat(timespec="seconds")
        value["sittings"].append({"run": run, "started": started, "skip_s": skip_s, "elapsed_s": 0.0, "end": None})
        session = cls(folder, run, skip_s, value)
        session._write()
        return session

    @property
    def is_resumed(self) -> bool:
        return self.skip_s > 0

    def passed(self, elapsed_s: float) -> None:
        """Store how far the plan is; if there is no room, the last stored value stays."""
        self._last["elapsed_s"] = round(max(0.0, elapsed_s - self.skip_s), 3)
        with suppress(BrokenEnvironment):
            self._write()

    def ended(self, how: str, summary: Mapping[str, Any] | None = None) -> None:
        """Store the session's end: `finished`, `interrupted`, or the error's text; raise `BrokenEnvironment` where it cannot be written."""
        self._last["end"] = how
        self._write()
        if summary is not None:
            _replace(self.folder / SUMMARY, summary)

    def failed(self, why: str) -> None:
        """Store why this session failed, if there is room."""
        with suppress(BrokenEnvironment):
            self.ended(why)

    @property
    def _last(self) -> dict[str, Any]:
        last: dict[str, Any] = self._value["sittings"][-1]
        return last

    def _write(self) -> None:
        _replace(self.folder / FILE, self._value)


def _new_record(folder: Place, order: LoadOrder) -> dict[str, Any]:
    if not folder.is_empty():
        raise WrongUsage(f"{folder.label} is not empty and holds no load; choose another --output")
    return {"schema": SCHEMA, "order": msgspec.json.decode(msgspec.json.encode(order)), "sittings": []}


def _resumed(folder: Place, value: Mapping[str, Any], order: LoadOrder) -> float:
    """Return how much of the plan is over; raise `WrongUsage` where this load cannot continue."""
    if value.get("schema") != SCHEMA:
        raise WrongUsage(f"{(folder / FILE).label} is of {value.get('schema')!r}, not {SCHEMA}; choose another --output")
    there, here = value["order"], msgspec.json.decode(msgspec.json.encode(order))
    if differing := [name for name in here if there.get(name) != here[name]]:
        text = ", ".join(f"{name} {there.get(name)} there and {here[name]} here" for name in differing)
        raise WrongUsage(f"{folder.label} holds another load ({text}); choose another --output, or use the same options to continue it")
    if not value["sittings"]:
        return 0.0
    last = value["sittings"][-1]
    if last["end"] == "finished":
        raise WrongUsage(f"{folder.label} holds a finished load; choose another --output")
    return float(last["skip_s"]) + float(last["elapsed_s"])


def _replace(file: Place, value: Mapping[str, Any]) -> None:
    try:
        file.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        raise BrokenEnvironment(f"can't write {file.label}: {error.strerror or error}") from error
