"""Updates an expectations file from a run. Its authors' words and order stay; only what the run contradicts changes.

The file is edited as text, entry by entry, because its comments are the authors' too. The user must give what a run cannot know: why a case fails,
and where to read about it.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

from groupproof.harness.judging.summary.expectations import KnownFailure, load
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.model.verdicts import Verdict
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["KnownReason", "Update", "read_report", "update", "write"]

# An entry begins with the comment directly above it.
_ENTRY = re.compile(r"(?:^#.*\n)*^\[\[known\]\]", re.MULTILINE)
_HEAD = "[[known]]"
_CASES = "[known.cases]"
_CASE = re.compile(r'^(case\s*=\s*)"[^"]*"', re.MULTILINE)
_FINGERPRINT = re.compile(r'^(fingerprint\s*=\s*)("[^"]*"|\[[^\]]*\])', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownReason:
    """Why a new failure is known: a sentence, and where to read about it (`source_name` is url or findings). `releases` are those in which it is
    known."""

    reason: str | None = None
    source_name: str = "url"
    source: str | None = None
    releases: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """The new text, and one line for each change."""

    text: str
    changes: tuple[str, ...]


def read_report(path: Path) -> Mapping[str, Any]:
    """Return a run's report from its folder or its report.json. Raise `WrongUsage` when there is none."""
    file = path / "report.json" if path.is_dir() else path
    try:
        report: Mapping[str, Any] = json.loads(file.read_text("utf-8"))
        validate("report", report)
    except OSError as error:
        raise WrongUsage(f"can't read the report {file}: {error.strerror}; name the folder that certify wrote (--output)") from error
    except (ValueError, SchemaError) as error:
        raise WrongUsage(f"{file} is no report of a run: {error}") from error
    return report


def update(file: Path, report: Mapping[str, Any], reading: KnownReason) -> Update:
    """Return `file` with stale entries of this subject corrected or removed, and with new entries for other failures.

    Raise `WrongUsage` when the file is no expectations file, or when there are new failures and `reading` does not say why they are known.
    """
    text = file.read_text("utf-8") if file.exists() else ""
    failures = load(file).failures if file.exists() else ()
    # The comment at the beginning of the file is about the whole file.
    starts = [match.start() or match.end() - len(_HEAD) for match in _ENTRY.finditer(text)]
    tables = [list(entries) for _, entries in groupby(failures, key=lambda failure: failure.where)]
    if len(starts) != len(tables):
        raise WrongUsage(f"{file} has entries that are not [[known]] tables; update it by hand")
    cases = [case for case in report["cases"] if not case["preview"]]
    blocks, changes = [text[: starts[0]] if starts else text], []
    for entries, (start, end) in zip(tables, pairwise([*starts, len(text)]), strict=True):
        block, change = _updated_table(entries, text[start:end], report, cases)
        blocks.append(block)
        changes += change
    new = [case for case in cases if case["verdict"] == Verdict.FAILED.value and not _is_updated(failures, report, case)]
    added = [_entry(case, report, _check_source(reading, new)) for case in new]
    changes += [f"added {case['id']}: {case['observed']}" for case in new]
    return Update(text=_joined("".join(blocks), added), changes=tuple(changes))


def write(file: Path, text: str) -> None:
    """Write the file. Raise `BrokenEnvironment` when that fails; refuse text that is no expectations file."""
    validate("expectations", tomllib.loads(text))
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise BrokenEnvironment(f"can't write {file}: {error.strerror}; name another with --file") from error


def _is_about(entry: KnownFailure, report: Mapping[str, Any]) -> bool:
    return entry.is_about(report["subject"]["version"] or "", report["suite"]["profile"])


def _covered(entry: KnownFailure, cases: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the cases of the run that the entry covers and that have a verdict."""
    silent = {Verdict.INCONCLUSIVE.value, Verdict.BROKEN.value}
    return [case for case in cases if entry.covers(case["id"]) and case["verdict"] not in silent]


def _updated_table(
    entries: Sequence[KnownFailure], block: str, report: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]
) -> tuple[str, list[str]]:
    """Return a table's text after the run. One with `[known.cases]` has a line for each case, and is removed with its last line."""
    if _CASES not in block:
        return _updated_entry(entries[0], block, report, cases)
    changes: list[str] = []
    for entry in entries:
        block, change = _updated_line(entry, block, report, cases)
        changes += change
    return block if any(_line_of(entry).search(block) for entry in entries) else "", changes


def _updated_line(entry: KnownFailure, block: str, report: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Return a table's text after the run of one of its cases: unchanged, with a new fingerprint, or without the line."""
    covered = _covered(entry, cases) if _is_about(entry, report) and not entry.by_chance else []
    if not covered or _still_fails(entry, covered[0]):
        return block, []
    if covered[0]["verdict"] == entry.verdict.value:
        line = f'"{entry.case}" = "{covered[0]["fingerprint"]}"\n'
        return _line_of(entry).sub(lambda _: line, block, count=1), [_changed(entry, covered[0])]
    return _line_of(entry).sub("", block, count=1), [_taken_out(entry, covered[0], report)]


def _line_of(entry: KnownFailure) -> re.Pattern[str]:
    return re.compile(rf'^"{re.escape(entry.case)}"\s*=\s*("[^"]*"|\[[^\]]*\]).*\n?', re.MULTILINE)


def _changed(entry: KnownFailure, case: Mapping[str, Any]) -> str:
    return f"changed {entry.case}: it fails in another way; see that its reason still holds: {case['observed']}"


def _taken_out(entry: KnownFailure, case: Mapping[str, Any], report: Mapping[str, Any]) -> str:
    return f"took out {entry.case}: it is {case['verdict']} in {report['subject']['name']} {report['subject']['version']}"


def _updated_entry(entry: KnownFailure, block: str, report: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]) -> tuple[str, list[str]]:
    """Return the entry's text after the run: unchanged, with a new fingerprint, only for the cases that fail as it says, or removed."""
    if entry.by_chance:
        return block, []  # no run contradicts it: a failure by chance is absent from most runs
    covered = _covered(entry, cases) if _is_about(entry, report) else []
    still_failing = [case for case in covered if _still_fails(entry, case)]
    if len(still_failing) == len(covered):
        return block, []
    if still_failing:
        narrowed = [_about_alone(block, case["id"]) for case in still_failing]
        return "\n\n".join(narrowed) + "\n\n", [
            f"narrowed {entry.case} to {', '.join(case['id'] for case in still_failing)}: others that it covers pass"
        ]
    failing = [case for case in covered if case["verdict"] == entry.verdict.value]
    if failing and len(covered) == 1:
        updated = _FINGERPRINT.sub(lambda match: f'{match[1]}"{failing[0]["fingerprint"]}"', block, count=1)
        return updated, [_changed(entry, failing[0])]
    return "", [_taken_out(entry, covered[0], report)]


def _about_alone(block: str, case: str) -> str:
    return _CASE.sub(lambda match: f'{match[1]}"{case}"', block.rstrip("\n"), count=1)


def _still_fails(entry: KnownFailure, case: Mapping[str, Any]) -> bool:
    """Return whether a case fails as the entry says, even if the entry excuses it. Old reports lack the verdict beneath."""
    is_excused = case["verdict"] == Verdict.EXCUSED.value
    verdict = case.get("excused", {}).get("verdict", entry.verdict.value) if is_excused else case["verdict"]
    return bool(verdict == entry.verdict.value and entry.fails_as(case["fingerprint"]))


def _is_updated(failures: Sequence[KnownFailure], report: Mapping[str, Any], case: Mapping[str, Any]) -> bool:
    """Return whether an entry for this case alone got a new fingerprint, or one for several was narrowed to it."""
    about = [entry for entry in failures if _is_about(entry, report)]
    return any(entry.case == case["id"] and entry.verdict.value == case["verdict"] for entry in about) or any(
        entry.covers(case["id"]) and _still_fails(entry, case) for entry in about
    )


def _check_source(reading: KnownReason, new: Sequence[Mapping[str, Any]]) -> KnownReason:
    if not reading.source:
        raise WrongUsage(
            f"{len(new)} new failures ({', '.join(case['id'] for case in new[:3])}{', …' if len(new) > 3 else ''}) need a page where somebody can "
            "read about them: give --url or --findings, and --reason"
        )
    return reading


def _entry(case: Mapping[str, Any], report: Mapping[str, Any], reading: KnownReason) -> str:
    fields = {
        "case": case["id"],
        "subject": reading.releases if reading.releases is not None else f"=={report['subject']['version']}",
        "verdict": case["verdict"],
        "fingerprint": case["fingerprint"],
        "reason": reading.reason or case["observed"],
        reading.source_name: reading.source,
    }
    return f"{_HEAD}\n" + "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in fields.items())


def _joined(text: str, entries: Sequence[str]) -> str:
    """Return the text followed by the entries, with an empty line before each."""
    parts = [name for name in (text.rstrip("\n"), *(entry.rstrip("\n") for entry in entries)) if name]
    return "\n\n".join(parts) + "\n"
