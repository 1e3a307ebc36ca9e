"""Certificates of real runs in this process, made once, and what a test does to them."""

from __future__ import annotations

import hashlib
import io
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from groupproof.clients.shims.reference import run_shim
from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, cases_of, every_case
from groupproof.harness.judging.summary.expectations import load
from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.model.case import Case
from groupproof.harness.reports.bundle.archive import pack, unpack
from groupproof.harness.reports.bundle.manifest import UserChoices
from groupproof.harness.reports.bundle.pack import write_bundle
from groupproof.harness.reports.bundle.verify_bundle import Verification, verify
from groupproof.harness.reports.report_writer import write_report
from groupproof.harness.running.runs.client_run import ClientRun
from groupproof.harness.running.runs.coordinator_run import CoordinatorRun
from groupproof.harness.running.runs.whole_run import CertifyRun, RunConfig
from groupproof.harness.subjects.brokers.reference_brokers import ReferenceBrokers, as_variant
from groupproof.harness.subjects.client_registry import Candidate
from groupproof.harness.subjects.subject import ReferenceSubject

__all__ = ["CLOSE", "REJOIN", "Files", "altered_by", "client", "coordinator", "edited", "packed", "rehashed", "unpacked", "verified"]

Files = dict[str, bytes]

CLOSE = "leave/classic/close"
REJOIN = "heartbeat/classic/rebalance-in-progress"


@dataclass(frozen=True, slots=True)
class Made:
    """A certificate, and the run that it is of."""

    contents: bytes
    summary: RunSummary

    @property
    def files(self) -> Files:
        return unpacked(self.contents)


@cache
def client() -> Made:
    """Return the certificate of a client that closes without LeaveGroup, which is known: EXCUSED 3/3, and OK."""
    subject = ReferenceSubject(run_shim, variant="no-leave-on-close", is_virtual=True)
    found = Candidate(name="groupproof", release=None, subject=subject, words=("groupproof",), jobs=4)
    cases = [case for case in every_case() if case.id in (CLOSE, REJOIN)]
    run = partial(ClientRun, found, say=lambda *_: None, on_hello=lambda _: None, catalogue=cases_of("client", DIALECT_CAPABILITIES))
    first = run(_run_config(cases)).go().summary
    (failed,) = (case.result.ruling for case in first.cases if case.case.id == CLOSE)
    return _made(run, cases, _expectation(failed.fingerprint))


@cache
def coordinator() -> Made:
    """Return the certificate of a coordinator that answers Heartbeat v4 wrongly."""
    cases = [case for case in every_case() if case.side == "coordinator" and case.id.startswith("heartbeat/classic/")][:3]
    subject = as_variant(ReferenceBrokers(profile="kafka-4.1"), "wrong/Heartbeat-v4")
    return _made(lambda config: CoordinatorRun(subject, config, say=lambda *_: None), cases, None)


def _run_config(cases: list[Case], **changed: Any) -> RunConfig:
    return RunConfig(cases=cases, profile="kafka-4.1", level="info", seed=1, jobs=4, command=["groupproof", "certify"], **changed)


def _expectation(fingerprint: str) -> str:
    fields = {
        "case": CLOSE,
        "subject": "",
        "verdict": "NON_STRICT",
        "fingerprint": fingerprint,
        "reason": "It never says goodbye.",
        "findings": "x.md",
    }
    return "[[known]]\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in fields.items())


def _made(make_run: Callable[[RunConfig], CertifyRun], cases: list[Case], failures: str | None) -> Made:
    with tempfile.TemporaryDirectory() as folder:
        expectations, changed = [Path(folder) / "known.toml"] if failures is not None else [], {}
        for path in expectations:
            path.write_text(failures or "")
            changed["expectations"] = load(path)
        outcome = make_run(_run_config(cases, **changed)).go()
        report, bundle = Path(folder) / "report", Path(folder) / "out.tar.zst"
        write_report(outcome.summary, report)
        write_bundle(outcome.summary, report, bundle, choices=UserChoices(only=[case.id for case in cases]), expectations=expectations)
        return Made(bundle.read_bytes(), outcome.summary)


def unpacked(contents: bytes) -> Files:
    return dict(unpack(io.BytesIO(contents)))


def packed(files: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    pack(((name, len(data), partial(io.BytesIO, data)) for name, data in files.items()), out)
    return out.getvalue()


def edited(files: Files, name: str, edit: Callable[[Any], object]) -> Files:
    """Return the files with a JSON file changed in place by `edit`."""
    value = json.loads(files[name])
    edit(value)
    return {**files, name: (json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode()}


def rehashed(files: Files) -> Files:
    """Return the files with the manifest's hashes made anew, as somebody does who has read how a certificate is made."""

    def hashes(manifest: dict[str, Any]) -> None:
        others = sorted((name, data) for name, data in files.items() if not name.startswith("manifest.json"))
        manifest["files"] = {name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)} for name, data in others}

    return edited(files, "manifest.json", hashes)


def verified(files: Files | bytes, tmp_path: Path, **options: Any) -> Verification:
    path = tmp_path / "out.tar.zst"
    path.write_bytes(files if isinstance(files, bytes) else packed(files))
    return verify(path, **options)


def altered_by(files: Files | bytes, tmp_path: Path) -> str:
    """Return what the verification names, in lines."""
    return "\n".join(verified(files, tmp_path).altered)
