"""Reads a certificate file by file, hashes each file and judges each case as it comes, so that the whole run is never in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, BinaryIO, Final

from groupproof.harness.cases.catalogue import cases_like
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.report_paths import CASES, case_place
from groupproof.harness.reports.bundle.archive import DamagedBundle, NotACertificate, unpack
from groupproof.harness.reports.bundle.bundle_files import EXPECTATIONS, MANIFEST, REPORT, SIGNATURE
from groupproof.harness.reports.bundle.manifest import SCHEMA
from groupproof.harness.reports.bundle.recomputed_case import Marks, RecomputedCase, read_json, recompute
from groupproof.protocol.kit_release import release
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["Contents", "read_bundle"]

Say = Callable[[Case], None]

_SHOWN_CHARS_MAX: Final = 40


@dataclass(slots=True)
class Contents:
    """The contents of a certificate. `hashes` has the SHA-256 and the size of every file except the manifest and its signature. `altered` lists the
    problems."""

    manifest_bytes: bytes
    manifest: Mapping[str, Any]
    signature: bytes | None = None
    report: Mapping[str, Any] | None = None
    expectations: dict[str, bytes] = field(default_factory=dict)
    recomputed: dict[str, RecomputedCase] = field(default_factory=dict)
    hashes: dict[str, tuple[str, int]] = field(default_factory=dict)
    altered: list[str] = field(default_factory=list)


def read_bundle(source: BinaryIO, say: Say) -> Contents:
    """Read and judge a certificate. `say` gets each case before it is judged.

    Raise `NotACertificate` for another kind of file, and `WrongUsage` for one made by another release of the kit. Problems of one made by this
    release are in `altered`. Raise `DamagedBundle` where not even its manifest can be read.
    """
    files = unpack(source)
    name, data = next(files, ("", b""))
    if name != MANIFEST:
        raise NotACertificate(f"it begins with {name[:_SHOWN_CHARS_MAX]!r} and not with {MANIFEST}" if name else "it is an empty archive")
    contents = Contents(data, _manifest(data))
    try:
        _read(contents, files, say)
    except DamagedBundle as error:
        contents.altered.append(str(error))
    return contents


def _manifest(data: bytes) -> Mapping[str, Any]:
    try:
        value = read_json(data)
    except ValueError as error:
        raise NotACertificate(f"its {MANIFEST} is no JSON: {error}") from error
    schema = value.get("schema") if isinstance(value, dict) else None
    if schema != SCHEMA:
        raise NotACertificate(f"its {MANIFEST} is of the form {str(schema)[:_SHOWN_CHARS_MAX]!r}; this groupproof ({release()}) reads {SCHEMA}")
    try:
        validate("bundle", value)
    except (SchemaError, RecursionError) as error:
        raise DamagedBundle(f"{MANIFEST} is not as its schema says: {error}") from error
    made_by = value["kit"]["version"]
    if made_by != release():
        raise WrongUsage(
            f"it was made by groupproof {made_by[:_SHOWN_CHARS_MAX]}, whose cases and checkers this one ({release()}) does not have; "
            f"verify it with that release: pip install groupproof=={made_by[:_SHOWN_CHARS_MAX]}"
        )
    manifest: Mapping[str, Any] = value
    return manifest


def _read(contents: Contents, files: Iterator[tuple[str, bytes]], say: Say) -> None:
    """Read the files after the manifest, a case's files together."""
    run = contents.manifest["run"]
    marks = Marks(seed=run["seed"], clock=run["clock"])
    cases = {case_place(case.id): case for case in cases_like(contents.manifest["subject"]["side"], contents.manifest["selected"])}
    for place, group in groupby(files, key=lambda file: _place(file[0])):
        if place in cases:
            say(cases[place])
            mine = {name.removeprefix(f"{place}/"): contents_of for name, contents_of in _hashed(contents, group)}
            contents.recomputed[cases[place].id] = recompute(cases[place], place, mine, marks)
        else:
            for name, data in _hashed(contents, group):
                _take(contents, name, data)


def _place(name: str) -> str:
    """Return the folder of a case's file; "" for any other file."""
    return name.rpartition("/")[0] if name.startswith(f"{CASES}/") else ""


def _hashed(contents: Contents, files: Iterator[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    for name, file in files:
        if name != SIGNATURE:
            contents.hashes[name] = (hashlib.sha256(file).hexdigest(), len(file))
        yield name, file


def _take(contents: Contents, name: str, data: bytes) -> None:
    if name == SIGNATURE:
        contents.signature = data
    elif name.startswith(f"{EXPECTATIONS}/"):
        contents.expectations[name] = data
    elif name == REPORT:
        try:
            value = read_json(data)
            validate("report", value)
            contents.report = value
        except (ValueError, RecursionError) as error:
            contents.altered.append(f"{REPORT} is no report: {error}")
