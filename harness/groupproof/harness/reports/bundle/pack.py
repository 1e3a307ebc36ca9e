"""Packs a run's certificate from the report just written: its schedules and raw traces unchanged, beside the manifest."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final

from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure
from groupproof.harness.model.report_paths import PLAN, case_place, trace_name
from groupproof.harness.reports.bundle.archive import pack
from groupproof.harness.reports.bundle.bundle_files import EXPECTATIONS, FILE_BYTES_MAX, MANIFEST, REPORT, SIGNATURE
from groupproof.harness.reports.bundle.manifest import UserChoices, manifest_of
from groupproof.harness.reports.bundle.signature import check_key, sign
from groupproof.protocol.schemas import SchemaError, validate

__all__ = ["check_bundle", "expectation_names", "write_bundle"]

_FOLDER: Final = "."
"""The report's folder in replay lines: the folder in which the certificate is unpacked."""


@dataclass(frozen=True, slots=True)
class _File:
    size: int
    sha256: str
    open: Callable[[], BinaryIO]


def check_bundle(bundle: Path, key: Path | None) -> None:
    """Raise `BrokenEnvironment` when a certificate cannot be written there, or as `sign` does. Called before a run, so that the run is not wasted."""
    with _beside(bundle):
        pass
    if key is not None:
        check_key(key)


def write_bundle(
    run: RunSummary, report: Path, bundle: Path, *, choices: UserChoices, expectations: Sequence[Path] = (), key: Path | None = None
) -> None:
    """Write the certificate of a run whose report is in the folder `report`, signed if there is a `key`. It is written whole or not at all."""
    files = _files(run, report, expectations)
    hashes = {name: (file.sha256, file.size) for name, file in files.items()}
    manifest = manifest_of(run, choices, expectations=[name for name in files if name.startswith(f"{EXPECTATIONS}/")], files=hashes)
    _validate(manifest)
    data = _json(manifest)
    files[MANIFEST] = _of_bytes(data)
    if key is not None:
        files[SIGNATURE] = _of_bytes(sign(data, key))
    with _beside(bundle) as fresh:
        with fresh.open("wb") as out:
            pack(((name, file.size, file.open) for name, file in files.items()), out)
        fresh.chmod(0o644)
        fresh.replace(bundle)


def expectation_names(paths: Sequence[Path]) -> list[str]:
    """Return the names of the files of known failures in a certificate, in their order."""
    return [f"{EXPECTATIONS}/{number}-{_plain(path.name)}" for number, path in enumerate(paths, 1)]


def _plain(name: str) -> str:
    return "".join(text if text.isascii() and (text.isalnum() or text in "._-") else "_" for text in name)[-80:]


def _files(run: RunSummary, report: Path, expectations: Sequence[Path]) -> dict[str, _File]:
    files = {REPORT: _of_bytes(_json(run.to_json(_FOLDER)))}
    files |= {name: _of_path(path) for name, path in zip(expectation_names(expectations), expectations, strict=True)}
    for case in run.cases:
        place = case_place(case.case.id)
        names = [PLAN, *(trace_name(number) for number in range(len(case.result.plays)))]
        files |= {f"{place}/{name}": _of_path(report / place / name) for name in names}
    return files


def _of_bytes(contents: bytes) -> _File:
    return _File(len(contents), hashlib.sha256(contents).hexdigest(), partial(BytesIO, contents))


def _of_path(path: Path) -> _File:
    try:
        with path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            size = file.tell()
    except OSError as error:
        raise BrokenEnvironment(f"can't read {path} for the certificate: {error.strerror}") from error
    if size > FILE_BYTES_MAX:
        raise BrokenEnvironment(
            f"{path} has {size >> 20} MiB; a certificate takes files of up to {FILE_BYTES_MAX >> 20} MiB: leave its case out with --skip"
        )
    return _File(size, sha256, lambda: path.open("rb"))


@contextmanager
def _beside(bundle: Path) -> Iterator[Path]:
    """Create a temporary file beside the certificate, and turn errors of the file system into one line."""
    try:
        bundle.parent.mkdir(parents=True, exist_ok=True)
        if bundle.is_dir():
            raise BrokenEnvironment(f"{bundle} is a folder; name the file that is to be the certificate")
        number, name = tempfile.mkstemp(dir=bundle.parent, prefix=".groupproof-")
        os.close(number)
        try:
            yield Path(name)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
    except OSError as error:
        raise BrokenEnvironment(f"can't write the certificate {bundle}: {error.strerror or error}; choose another --bundle") from error


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "surrogateescape")


def _validate(manifest: Mapping[str, Any]) -> None:
    try:
        validate("bundle", manifest)
    except SchemaError as error:
        raise KitFailure(f"the manifest that would be written is not as its schema says: {error}") from error
