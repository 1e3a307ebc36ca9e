"""Parses a tap's faults from what a user writes: a JSON file of faults as in schedules, or a few words. Pure except for reading the file.

Words are separated by commas: the API, `response` for its responses, conditions on the frame (`nth=2`, `client=app`, `group=g`, …), and the action:
`answer=27` or `answer=REBALANCE_IN_PROGRESS`, `hold` or `hold=MS`, `silence` (no more responses on its connection), `drop` (the frame is
discarded), `cut`, `reset`, `duplicate`, `corrupt` or `corrupt=SEED`, `reorder` or `reorder=MS` (it waits until a frame of another connection has
passed).
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.faults import Action, Answer, Corrupt, Cut, Drop, Duplicate, Fault, Hold, Move, Reorder, Selector, Silence, fault_from_json
from groupproof.protocol.vocabulary import Api, ErrorCode

__all__ = ["faults_of"]

_NUMBERS: Final = ("nth", "count", "generation", "member_epoch", "node", "error", "assigned")
_TEXTS: Final = ("client", "group", "member", "instance", "role", "state")
_PLAIN: Final[dict[str, Action]] = {
    "silence": Silence(), "drop": Drop(), "cut": Cut(), "reset": Cut(reset=True), "duplicate": Duplicate(), "hold": Hold(), "corrupt": Corrupt(),
    "reorder": Reorder(),
}  # fmt: skip
_ACTIONS: Final = (
    "answer=CODE", "hold", "hold=MS", "silence", "drop", "cut", "reset", "duplicate", "corrupt", "corrupt=SEED", "reorder", "reorder=MS",
)  # fmt: skip
_TITLES: Final = {api.title.lower(): api.title for api in Api}


def faults_of(written: Sequence[str]) -> list[Fault]:
    """Return all faults, each with its own name. Raise `WrongUsage`."""
    faults = [fault for number, name in enumerate(written, 1) for fault in _faults(name, number)]
    names = [fault.name for fault in faults]
    if repeated := {name for name in names if names.count(name) > 1}:
        raise WrongUsage(f"--fault: two faults are called {', '.join(sorted(repeated))}; receipts name them, so each needs a name of its own")
    for fault in faults:
        _check(fault)
    return faults


def _faults(written: str, number: int) -> list[Fault]:
    return _read(Path(written)) if written.endswith(".json") or Path(written).is_file() else [_of_words(written, number)]


def _read(file: Path) -> list[Fault]:
    try:
        value = json.loads(file.read_text("utf-8"))
        return [fault_from_json(item) for item in (value if isinstance(value, list) else [value])]
    except OSError as error:
        raise WrongUsage(f"--fault {file} can't be read: {error.strerror}") from error
    except ValueError as error:
        raise WrongUsage(f"--fault {file}: {error}") from error


def _of_words(written: str, number: int) -> Fault:
    first, *words = [part.strip() for part in written.split(",")]
    selector: dict[str, Any] = {"api": _title(first)}
    name, action = f"fault-{number}", None
    for word in words:
        key, equals, value = word.partition("=")
        if word in ("request", "response"):
            selector["direction"] = word
        elif key == "name" and value:
            name = value
        elif equals and key in (*_NUMBERS, *_TEXTS):
            selector[key] = _number(word, value) if key in _NUMBERS else value
        elif action is None:
            action = _action(written, word, key, value)
        else:
            raise WrongUsage(f"--fault {written}: {word} is a second action, and a fault has one")
    if action is None:
        raise WrongUsage(f"--fault {written} does nothing; say one of {', '.join(_ACTIONS)}")
    return Fault(name=name, selector=Selector(**selector), action=action)


def _title(word: str) -> str:
    title = _TITLES.get(word.lower())
    if title is None:
        near = difflib.get_close_matches(word.lower(), _TITLES, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(_TITLES[name] for name in near)}?" if near else "write it as Kafka does: JoinGroup, Heartbeat"
        raise WrongUsage(f"--fault: no file and no API is called {word!r}; {hint}")
    return title


def _number(word: str, value: str) -> int:
    if not value.lstrip("-").isdigit():
        raise WrongUsage(f"--fault: {word}: a whole number is needed")
    return int(value)


def _action(written: str, word: str, key: str, value: str) -> Action:
    if key == "answer" and value:
        return Answer(error_code=_code(word, value))
    if key == "hold" and value:
        return Hold(ms=_number(word, value))
    if key == "reorder" and value:
        return Reorder(ms=_number(word, value))
    if key == "corrupt" and value:
        return Corrupt(seed=_number(word, value))
    if word in _PLAIN:
        return _PLAIN[word]
    names = [*_NUMBERS, *_TEXTS, "name", "response"]
    raise WrongUsage(f"--fault {written}: {word!r} is no action ({', '.join(_ACTIONS)}) and no condition on a frame ({', '.join(names)})")


def _code(word: str, value: str) -> int:
    if value.upper() in ErrorCode.__members__:
        return int(ErrorCode[value.upper()])
    if not value.lstrip("-").isdigit():
        near = difflib.get_close_matches(value.upper(), ErrorCode.__members__, n=1)
        raise WrongUsage(f"--fault: {word}: no error is called so" + (f"; did you mean {near[0]}?" if near else "; a number will do"))
    return int(value)


def _check(fault: Fault) -> None:
    """Refuse what a tap alone cannot do: it moves no coordinator."""
    if fault.selector.api not in _TITLES.values():
        raise WrongUsage(f"fault {fault.name}: no API is called {fault.selector.api!r}")
    if isinstance(fault.action, Move):
        raise WrongUsage(f"fault {fault.name}: a tap cannot move a coordinator; stop the broker, or answer NOT_COORDINATOR")
    if isinstance(fault.action, Duplicate) and fault.selector.direction == "response":
        raise WrongUsage(f"fault {fault.name}: an answer cannot be duplicated, only a request")
