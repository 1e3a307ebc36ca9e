"""The command that plays a published run, or one case of it, again, on any machine that has groupproof. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

__all__ = ["reproduction"]

_NEEDED: Final = 3
"""`groupproof certify SIDE`: what stands before the subject."""


def reproduction(report: Mapping[str, Any]) -> list[str]:
    """Return the words of the command: the run's subject with its release, its profile and its seed; `--only CASE` may be added before a `--`.

    Where the client was a program of its own, that program stands behind the `--`.
    """
    suite, run = report["suite"], report["run"]
    command = run["command"].split() if isinstance(run["command"], str) else list(run["command"])
    program = command[command.index("--") :] if "--" in command else []
    subject = [] if program else [_subject(report, command)]
    return ["groupproof", "certify", report["subject"]["side"], *subject, "--profile", suite["profile"], "--seed", str(run["seed"]), *program]


def _subject(report: Mapping[str, Any], command: Sequence[str]) -> str:
    """Return the subject with its release where it is a registered one, else (HOST:PORT) as the run named it."""
    name, release = report["subject"]["name"], report["subject"]["version"]
    if any(word.partition("@")[0] == name for word in command[_NEEDED:]):
        return f"{name}@{release}" if release and name != "groupproof" else str(name)
    return next((word for word in command[_NEEDED:] if not word.startswith("-")), str(name))
