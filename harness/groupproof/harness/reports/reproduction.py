"""The command that repeats a published run, or one case of it, on any computer with groupproof. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["reproduction"]

_NEEDED: Final = 3
"""The number of words of `groupproof certify SIDE`, which come before the subject."""


def reproduction(report: Mapping[str, Any]) -> list[str]:
    """Return the words of the command: the subject with its release, the profile and the seed. `--only CASE` may be added before a `--`.

    If the client was a program on the command line, that program comes after the `--`.
    """
    suite, run = report["suite"], report["run"]
    command = run["command"].split() if isinstance(run["command"], str) else list(run["command"])
    program = command[command.index("--") :] if "--" in command else []
    subject = [] if program else [_subject(report, command)]
    return ["groupproof", "certify", report["subject"]["side"], *subject, "--profile", suite["profile"], "--seed", str(run["seed"]), *program]


def _subject(report: Mapping[str, Any], command: Sequence[str]) -> str:
    """Return the subject with its release if it is a registered one; otherwise as the run named it (HOST:PORT)."""
    name, release = report["subject"]["name"], report["subject"]["version"]
    if any(word.partition("@")[0] == name for word in command[_NEEDED:]):
        return f"{name}@{release}" if release and name != "groupproof" else str(name)
    return next((word for word in command[_NEEDED:] if not word.startswith("-")), str(name))
