"""The shipped JSON Schemas of the kit's inputs and outputs, and a one-line error for a value that does not match.

Names: report, analysis, bundle (a certificate's manifest), comparison (of ZooKeeper and coordinator), matrix (many runs, published), schedule,
scenario, spark-streaming (a report on Spark's Kafka source), expectations, museum (its rows), museum-report, trace (one line), watch (the groups of
an offsets topic), shim-event (hello included), shim-command and shim-answer. Source: the contract's sections of these names.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator
from jsonschema.validators import extend

__all__ = ["NAMES", "SchemaError", "schema", "validate"]

NAMES: Final = (
    "analysis", "bundle", "comparison", "expectations", "matrix", "museum", "museum-report", "rehearsal", "report", "scenario", "schedule", "shim-answer", "shim-command",
    "shim-event", "spark-streaming", "trace", "watch",
)  # fmt: skip

_SHOWN_CHARS_MAX: Final = 200
_SOUND_MAX: Final = 4_096


class SchemaError(ValueError):
    """A value that does not match its schema. `str()` is one line: the place and the value found there."""


@cache
def schema(name: str) -> dict[str, Any]:
    """Return the schema called `name`; raise `ValueError` that lists the names for an unknown one."""
    if name not in NAMES:
        raise ValueError(f"there is no schema called {name!r}; there are {', '.join(NAMES)}")
    text = (files("groupproof.protocol") / "schemas" / f"{name}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def validate(name: str, value: Any) -> None:
    """Check `value` (from JSON or TOML; tuples and dates are allowed) against the schema `name`; raise `SchemaError` where it does not match."""
    error = best_match(_validator(name).iter_errors(_jsonable(value)))
    if error is not None:
        raise SchemaError(f"{name}: {_place(error)}{_shorten(error.message)}")


@cache
def _validator(name: str) -> Validator:
    """Return the validator of a schema. It remembers valid parts: of 1,900 steps in the plans of a run, four in five repeat another."""
    sound: set[tuple[str, str]] = set()
    check_part = Draft202012Validator.VALIDATORS["$ref"]

    def ref(validator: Validator, target: str, instance: Any, part: Mapping[str, Any]) -> Iterator[ValidationError]:
        key = (target, repr(instance))
        if key in sound:
            return
        errors = list(check_part(validator, target, instance, part))
        if not errors and len(sound) < _SOUND_MAX:
            sound.add(key)
        yield from errors

    extended = extend(Draft202012Validator, {"$ref": ref, "if": _if})  # type: ignore[no-untyped-call] # the stubs leave it untyped
    made: Validator = extended(schema(name), format_checker=FormatChecker())
    return made


def _if(validator: Any, condition: Mapping[str, Any], instance: Any, whole: Mapping[str, Any]) -> Iterator[ValidationError]:
    """Check `then` or `else`. Nearly every condition compares one text of the instance, and has a dozen siblings: that text is compared directly."""
    asked: Mapping[str, Mapping[str, Any]] = condition["properties"] if condition.keys() == {"properties"} else {}
    name, wanted = next(iter(asked.items())) if len(asked) == 1 else ("", {})
    text = instance.get(name) if isinstance(instance, dict) else None
    if isinstance(text, str) and len(wanted) == 1 and wanted.keys() <= {"const", "enum"}:
        holds = text in wanted["enum"] if "enum" in wanted else text == wanted["const"]
        branch = "then" if holds else "else"
        if branch in whole:
            yield from validator.descend(instance, whole[branch], schema_path=branch)
    else:
        yield from Draft202012Validator.VALIDATORS["if"](validator, condition, instance, whole)


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _place(error: ValidationError) -> str:
    path = "/".join(str(part) for part in error.absolute_path)
    return f"at {path}: " if path else ""


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_CHARS_MAX else f"{line[: _SHOWN_CHARS_MAX // 2]} … {line[-_SHOWN_CHARS_MAX // 2 :]}"
