"""The options of a pytest session, from the command line and the configuration file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import pytest

__all__ = ["PytestOptions", "options_of"]

_Value = TypeVar("_Value")

_COMMIT_DIGITS: Final = 40
_LEVELS: Final = ("must", "should", "info")
_CAUSES: Final = frozenset({"non-strict", "unclean"})
_PYTHONS: Final = frozenset({"python", "python3"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestOptions:
    """The subject and its options; None means that the subject decides. `named` is the user's text, `program` a program's words."""

    side: str
    named: str
    program: tuple[str, ...]
    profile: str | None
    only: tuple[str, ...]
    skip: tuple[str, ...]
    level: str
    seed: int
    jobs: int | None
    timeout_s: float | None
    shim_level: int | None
    fail_on: frozenset[str]
    expect: tuple[Path, ...]
    output: Path | None


def options_of(config: pytest.Config) -> PytestOptions:
    """Return the session's options; the command line wins over the file. Raise `UsageError` for an invalid value."""
    sides = [side for side in ("client", "coordinator") if config.getoption(f"groupproof_{side}")]
    sides = sides or [side for side in ("client", "coordinator") if config.getini(f"groupproof_{side}")]
    if len(sides) > 1:
        raise pytest.UsageError("groupproof: a session has one under test, a client or a coordinator; leave one of them out")
    side = sides[0]
    named = str(_text(config, side))
    return PytestOptions(
        side=side,
        named=named,
        program=_program(config, named) if side == "client" else (),
        profile=_text(config, "profile"),
        only=_many(config, "only"),
        skip=_many(config, "skip"),
        level=_read(config, "level", _level) or "info",
        seed=_or(_read(config, "seed", _seed), 1),
        jobs=_read(config, "jobs", _positive(int)),
        timeout_s=_read(config, "timeout", _positive(float)),
        shim_level=_read(config, "shim-level", _shim_level),
        fail_on=_read(config, "fail-on", _causes) or frozenset(),
        expect=tuple(_path(config, "expect", name) for name in _many(config, "expect")),
        output=_read(config, "output", lambda text: _path(config, "output", text)),
    )


def _or(value: _Value | None, default: _Value) -> _Value:
    return default if value is None else value


def _is_from_file(config: pytest.Config, name: str) -> bool:
    return not config.getoption(f"groupproof_{name.replace('-', '_')}")


def _text(config: pytest.Config, name: str) -> str | None:
    key = f"groupproof_{name.replace('-', '_')}"
    text = config.getoption(key) or config.getini(key)
    return str(text).strip() or None


def _many(config: pytest.Config, name: str) -> tuple[str, ...]:
    return tuple(config.getoption(f"groupproof_{name}") or config.getini(f"groupproof_{name}"))


def _read(config: pytest.Config, name: str, convert: Callable[[str], _Value]) -> _Value | None:
    text = _text(config, name)
    if text is None:
        return None
    try:
        return convert(text)
    except ValueError as error:
        raise pytest.UsageError(f"--groupproof-{name} {text}: {error}") from None


def _level(text: str) -> str:
    if text not in _LEVELS:
        raise ValueError(f"a level is one of {', '.join(_LEVELS)}")
    return text


def _seed(text: str) -> int:
    try:
        return int(text, 16) >> 96 if len(text) == _COMMIT_DIGITS else int(text, 0)
    except ValueError:
        raise ValueError("a seed is an integer such as 7 or 0x1f, or a commit's 40 hex digits") from None


def _positive(kind: Callable[[str], _Value]) -> Callable[[str], _Value]:
    def read(text: str) -> _Value:
        try:
            number = kind(text)
        except ValueError:
            raise ValueError("this takes a number") from None
        if not number > 0:  # type: ignore[operator]  # an int or a float
            raise ValueError("this takes a number above 0")
        return number

    return read


def _shim_level(text: str) -> int:
    if text not in ("0", "1"):
        raise ValueError("a shim's level is 0 or 1")
    return int(text)


def _causes(text: str) -> frozenset[str]:
    causes = frozenset(part.strip() for part in text.split(",") if part.strip())
    if unknown := causes - _CAUSES:
        raise ValueError(f"{', '.join(sorted(unknown))}: unknown; it takes {' and '.join(sorted(_CAUSES))}, separated by a comma")
    return causes


def _home(config: pytest.Config, name: str) -> Path:
    """Return the base folder of this option's relative paths: the configuration file's folder, or the one where pytest was called."""
    if _is_from_file(config, name) and config.inipath is not None:
        return config.inipath.parent
    return config.invocation_params.dir


def _path(config: pytest.Config, name: str, text: str) -> Path:
    """Return the path, relative to pytest's folder if possible, because replay lines print it."""
    path = _home(config, name) / text
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _program(config: pytest.Config, named: str) -> tuple[str, ...]:
    """Return the words of a command line, or nothing for a registered name.

    `python` is the Python that runs pytest; words that are files beside the configuration file become their paths.
    """
    try:
        words = shlex.split(named)
    except ValueError as error:
        raise pytest.UsageError(f"--groupproof-client {named}: {error}") from None
    home = _home(config, "client")
    is_program = len(words) > 1 or (len(words) == 1 and ("/" in words[0] or (home / words[0]).is_file()))
    if not is_program:
        return ()
    first = sys.executable if words[0] in _PYTHONS else _found(words[0], home)
    return (first, *(_found(word, home) for word in words[1:]))


def _found(word: str, home: Path) -> str:
    """Return the path of the file `word` in `home`, or the word itself, so that it does not depend on pytest's folder."""
    path = home / word
    return str(path) if path.is_file() else word
