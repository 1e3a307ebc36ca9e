"""The manifest of a certificate: the kit's version, the subject, the cases, each file's SHA-256, and how to repeat the run. Pure.

`verify_bundle` recomputes everything in it that follows from the kit and the rest of the certificate.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any, Final

from packaging.requirements import Requirement

from groupproof.harness.cases.catalogue import cases_of, client_side
from groupproof.harness.judging.summary.grade import required_of
from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.model.case import Case
from groupproof.harness.model.schedule_json import course_to_json

__all__ = ["SCHEMA", "UserChoices", "cases_sha256", "libraries", "manifest_of", "reproduction"]

SCHEMA: Final = "groupproof.bundle/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class UserChoices:
    """The user's choices, and how the run ended: patterns of `--only` and `--skip`, other options as typed, and why the run ended early."""

    only: Sequence[str] = ()
    skip: Sequence[str] = ()
    others: Sequence[str] = ()
    gave_up: str | None = None


def manifest_of(run: RunSummary, choices: UserChoices, *, expectations: Sequence[str], files: Mapping[str, tuple[str, int]]) -> dict[str, Any]:
    """Return the manifest of a run. `expectations` are the names of such files. `files` has the SHA-256 and the size in bytes of each file."""
    side, level = run.subject.side, run.run.level
    spec = run.subject.spec
    value: dict[str, Any] = {
        "schema": SCHEMA,
        "kit": {"version": run.suite.version, "catalogue_sha256": run.suite.catalogue_sha256, "cases_sha256": cases_sha256(side)},
        "made_with": {"python": platform.python_version(), "libraries": libraries()},
        "subject": {
            "side": side,
            "name": run.subject.name,
            "version": run.subject.version,
            "language": run.subject.language,
            "spec": spec if isinstance(spec, str) else list(spec),
        },
        "run": {
            "profile": run.suite.profile,
            "seed": run.run.seed,
            "level": level,
            "fail_on": sorted(run.run.fail_on),
            "clock": run.run.clock,
            "interrupted": run.run.interrupted,
            "gave_up": choices.gave_up,
        },
        "selection": {"only": list(choices.only), "skip": list(choices.skip), "others": list(choices.others)},
        "required": [case.id for case in required_of(cases_of(side, run.subject.capabilities, run.suite.profile), level)],
        "selected": [case.id for case in run.selected],
        "unreached": [case.id for case in run.unreached],
        "troubles": {
            result.case.id: {"exit_code": result.trouble.exit_code, "said": str(result.trouble)} for result in run.results if result.trouble
        },
        "grade": run.grade,
        "expectations": list(expectations),
        "files": {name: {"sha256": sha256, "bytes": size} for name, (sha256, size) in sorted(files.items())},
    }
    return {**value, "reproduce": reproduction(value)}


def reproduction(manifest: Mapping[str, Any]) -> str:
    """Return the command line that repeats the run, with release and seed, from the folder of the unpacked certificate."""
    subject, run, selection = manifest["subject"], manifest["run"], manifest["selection"]
    words = ["groupproof", "certify", subject["side"]]
    program = subject["spec"] if isinstance(subject["spec"], list) else []
    words += [] if program else [_named(subject)]
    words += ["--profile", run["profile"], "--seed", str(run["seed"]), *(["--level", run["level"]] if run["level"] != "info" else [])]
    words += [word for name in ("only", "skip") for pattern in selection[name] for word in (f"--{name}", pattern)]
    words += [*selection["others"]]
    words += [word for name in manifest["expectations"] for word in ("--expect", name)]
    words += ["--fail-on", ",".join(run["fail_on"])] if run["fail_on"] else []
    return shlex.join([*words, *(["--", *program] if program else [])])


def _named(subject: Mapping[str, Any]) -> str:
    """Return the subject's registered name with its release, or its address."""
    spec, name = subject["spec"], subject["name"]
    is_bare = spec == name and subject["version"] and name != "groupproof"
    return f"{spec}@{subject['version']}" if is_bare else str(spec)


@cache
def cases_sha256(side: str) -> str:
    """Return a digest of every case of a side, for clients of every kind: its plan or script, its level, its needs, whether it is required."""
    digest = hashlib.sha256()
    for case in client_side() if side == "client" else cases_of(side):
        digest.update(json.dumps(_expectation_fields(case), sort_keys=True, ensure_ascii=False).encode())
    return digest.hexdigest()


def _expectation_fields(case: Case) -> list[Any]:
    marks = [case.isolated, case.preview, case.required]
    return [case.id, case.title, list(case.requirements), case.level.value, sorted(case.needs), marks, course_to_json(case.plan)]


def libraries() -> dict[str, str]:
    """Return the releases of the kit's own dependencies. Those that are not installed as packages are left out."""
    return dict(sorted((name, found) for name in _required() if (found := _release(name)) is not None))


def _required() -> Iterable[str]:
    try:
        lines = requires("groupproof") or ()
    except PackageNotFoundError:
        return ()
    needed = (Requirement(line) for line in lines)
    return [requirement.name for requirement in needed if requirement.marker is None or requirement.marker.evaluate({"extra": ""})]


def _release(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
