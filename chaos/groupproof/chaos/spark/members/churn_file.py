"""Reads a churn file (TOML) as a plan, and the shipped plans; an error is one line."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NoReturn

from groupproof.chaos.spark.members.checked_settings import SETTINGS, checked_settings
from groupproof.chaos.spark.members.churn_plan import LASTING, Action, Churn, Phase, Span
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.subjects.tap.fault_syntax import faults_of
from groupproof.protocol.toxics import toxic_from_json

__all__ = ["BadChurn", "check_member", "churn_named", "read_churn", "shipped"]

_HEAD: Final = frozenset({"title", "story", "phase", "fault", "member", "coordinator"})
_OF_A_PHASE: Final = frozenset({"action", "at", "share", "spread", "lasts", "waves", "every", "until"})
_OF_A_FAULT: Final = frozenset({"at", "for", "frames", "impair"})
_SPAN: Final = re.compile(r"(\d+(?:\.\d+)?)(%|ms|s|m)")
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


class BadChurn(WrongUsage):
    """A file that is no churn plan, or an unknown name; the message says where and why."""


@cache
def shipped() -> tuple[Churn, ...]:
    """Return the shipped plans, by name; raise `BadChurn` for an invalid one."""
    folder = files("groupproof.chaos.spark") / "churn"
    found = sorted((path for path in folder.iterdir() if path.name.endswith(".toml")), key=lambda file: file.name)
    return tuple(read_churn(file.name.removesuffix(".toml"), file.read_text("utf-8")) for file in found)


def churn_named(named: str) -> Churn:
    """Return the shipped plan of that name, or the plan in a file; raise `BadChurn` with the nearest names."""
    if named.endswith(".toml"):
        return _load(Path(named))
    names = [churn.name for churn in shipped()]
    if named not in names:
        raise BadChurn(f"no plan of churn is called {named!r}{_hint(named, names)}; one of your own: FILE.toml")
    return shipped()[names.index(named)]


def _load(path: Path) -> Churn:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadChurn(f"can't read the plan of churn {path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        return read_churn(path.stem, text)
    except BadChurn as error:
        raise BadChurn(f"{path}: {error}") from None


def read_churn(name: str, text: str) -> Churn:
    """Return the plan of a TOML text; raise `BadChurn`."""
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadChurn(f"it is no TOML: {error}") from error
    _fields("the head", value, _HEAD, needs=("title", "phase"))
    phases = tuple(_phase(f"phase {number}", table) for number, table in enumerate(_tables(value, "phase"), 1))
    if not any(phase.action is Action.START for phase in phases):
        raise BadChurn('no member is ever started: a phase needs action = "start"')
    return Churn(
        name=name,
        title=str(value["title"]),
        story=" ".join(str(value.get("story", "")).split()),
        phases=phases,
        member=check_member("member", value.get("member", {})),
        coordinator=dict(value.get("coordinator", {})),
        outside_faults=tuple(_fault(f"fault {number}", table) for number, table in enumerate(_tables(value, "fault"), 1)),
    )


def _tables(value: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = value.get(key, [])
    if not isinstance(found, list) or not all(isinstance(item, Mapping) for item in found):
        raise BadChurn(f"{key} is written as [[{key}]]")
    return found


def _phase(where: str, entry: Mapping[str, Any]) -> Phase:
    _fields(where, entry, _OF_A_PHASE, needs=("action", "at"))
    actions = [action.value for action in Action]
    if entry["action"] not in actions:
        _refuse(where, f"there is no action {entry['action']!r}{_hint(str(entry['action']), actions)}")
    action = Action(entry["action"])
    if action in (Action.STALL, Action.FREEZE) and "lasts" not in entry:
        _refuse(where, f"{action.value} says for how long: lasts")
    if "lasts" in entry and action not in LASTING:
        _refuse(where, f"{action.value} does not last")
    spans = {name: _span(where, name, entry[name]) for name in ("at", "spread", "lasts", "every", "until") if name in entry}
    waves = entry.get("waves", 0)
    if not isinstance(waves, int) or waves < 0:
        _refuse(where, f"waves is a whole number, not {waves!r}")
    return Phase(action=action, share=_share(where, entry.get("share", "100%")), waves=waves, **spans)


def _fault(where: str, entry: Mapping[str, Any]) -> tuple[Span, Span, Mapping[str, Any]]:
    _fields(where, entry, _OF_A_FAULT, needs=("at", "for"))
    if ("frames" in entry) == ("impair" in entry):
        _refuse(where, 'it strikes either frames = "Heartbeat,answer=27" (the words of groupproof tap) or the way: impair = { kind = "latency", … }')
    if "frames" in entry:
        faults_of([entry["frames"]])
        outside_fault: dict[str, Any] = {"fault": entry["frames"]}
    else:
        try:
            toxic_from_json(entry["impair"])
        except (KeyError, TypeError, ValueError) as error:
            _refuse(where, f"impair: {error}")
        outside_fault = {"impair": dict(entry["impair"])}
    return _span(where, "at", entry["at"]), _span(where, "for", entry["for"]), outside_fault


def check_member(where: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of members with values of their types; raise `BadChurn` for an unknown or invalid one."""
    _fields(where, settings, SETTINGS)
    try:
        return checked_settings(settings)
    except ValueError as error:
        _refuse(where, str(error))


def _span(where: str, key: str, value: Any) -> Span:
    found = _SPAN.fullmatch(str(value))
    if found is None:
        _refuse(where, f'{key} is a span of time, "20s" or "500ms", or a share of the run, "25%", not {value!r}')
    return Span(float(found[1]) / 100, is_share=True) if found[2] == "%" else Span(float(found[1]) * _SECONDS[found[2]])


def _share(where: str, value: Any) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)%", str(value))
    if found is None or not 0 < float(found[1]) <= 100:
        _refuse(where, f'share is a part of the members, "33%", not {value!r}')
    return float(found[1]) / 100


def _fields(where: str, entry: Mapping[str, Any], names: Collection[str], *, needs: Iterable[str] = ()) -> None:
    for unknown in (key for key in entry if key not in names):
        _refuse(where, f"there is no field {unknown!r}{_hint(unknown, sorted(names))}")
    if missing := [key for key in needs if key not in entry]:
        _refuse(where, f"it needs {' and '.join(missing)}")


def _refuse(where: str, why: str) -> NoReturn:
    raise BadChurn(f"{where}: {why}")


def _hint(name: str, allowed: Iterable[str]) -> str:
    names = list(allowed)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(near)}?" if near else f"; there are {', '.join(names)}"
