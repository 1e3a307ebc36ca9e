"""`groupproof verify BUNDLE`: recomputes a certificate from its raw traces, and reports its results and any changes in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from groupproof.harness.judging.summary.run_summary import RunSummary
    from groupproof.harness.reports.bundle.verify_bundle import Verification

__all__ = ["command"]

ALTERED = 1
PARTIAL = 2

_NAMED_MAX = 6


@click.command("verify")
@click.argument("bundle", type=click.Path(path_type=Path))
@click.option(
    "--signer",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Require a signature by one of the allowed signers in this file (ssh-keygen).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the outcome as JSON on stdout, and nothing else there.")
def command(bundle: Path, signer: Path | None, *, as_json: bool) -> int:
    """Recompute every verdict of the certificate BUNDLE from its raw traces, by the judges of a run, and refuse one of which anything was changed.

    0 says that it holds, whatever its grade is; 1 that it was altered, and in what; 2 that it holds, and that its run was not whole; 3 that it is
    no certificate, or one of another release.
    """
    from rich.console import Console

    from groupproof.harness.reports.bundle.verify_bundle import verify

    with Console(stderr=True).status("judging the traces") as status:
        found = verify(bundle, signers=signer, say=lambda case: status.update(f"judging {case.id}"))
    if as_json:
        click.echo(json.dumps(_as_json(bundle, found), ensure_ascii=False, indent=1))
    else:
        for line in _lines(bundle, found):
            click.echo(line)
    return _code(found)


def _code(found: Verification) -> int:
    if found.altered:
        return ALTERED
    assert found.summary is not None
    return PARTIAL if found.summary.unreached or found.summary.grade.startswith(("PARTIAL", "NO_VERDICT")) else 0


def _as_json(bundle: Path, found: Verification) -> dict[str, Any]:
    whole = found.summary if not found.altered else None
    return {
        "bundle": str(bundle),
        "holds": not found.altered,
        "altered": list(found.altered),
        "signed": found.is_signed,
        "key": None if found.signature is None else found.signature.key,
        "signer": None if found.signature is None else found.signature.signer,
        "subject": None if whole is None else {"side": whole.subject.side, "name": whole.subject.name, "version": whole.subject.version},
        "profile": None if whole is None else whole.suite.profile,
        "grade": None if whole is None else whole.grade,
        "totals": None if whole is None else whole.totals,
        "left_out": list(found.left_out),
        "unreached": [] if whole is None else [case.id for case in whole.unreached],
        "stale": [] if whole is None else list(whole.settled.stale),
        "reproduce": None if found.manifest is None or whole is None else found.manifest["reproduce"],
    }


def _lines(bundle: Path, found: Verification) -> Iterator[str]:
    if found.altered or found.summary is None or found.manifest is None:
        yield f"ALTERED  {bundle} is refused:"
        yield from (f"  {line}" for line in found.altered)
        if not any("SHA-256" in line for line in found.altered):
            yield "its files are those that its manifest names: it was created again after the change, or by another build of this release"
        return
    run, manifest = found.summary, found.manifest
    yield f"HOLDS  {bundle}: {run.subject.title}, a {run.subject.side}, by {run.suite.profile}, seed {run.run.seed}"
    counts = ", ".join(f"{count} {verdict}" for verdict, count in run.totals.items() if count)
    yield f"{run.grade}  {counts}; each verdict recomputed from {found.traces} traces by groupproof {run.suite.version}"
    yield from _partial(run, manifest["run"]["gave_up"])
    if found.left_out:
        yield f"left out: {_named(found.left_out)} were not selected"
    yield from _excuse_lines(run, manifest["expectations"])
    yield _signed(found)
    yield f"reproduce: {manifest['reproduce']}"


def _partial(run: RunSummary, gave_up: str | None) -> Iterator[str]:
    if not run.unreached and not run.run.interrupted:
        return
    why = "interrupted" if run.run.interrupted else f"given up: {gave_up}"
    yield f"partial: the run was {why}; {_named([case.id for case in run.unreached])} were not reached"


def _excuse_lines(run: RunSummary, files: list[str]) -> Iterator[str]:
    """Yield the cases that known failures excuse, so that a verifier sees that they are failures."""
    excused = [case for case in run.cases if case.excuse is not None]
    if excused:
        yield f"excused: {_named([case.case.id for case in excused])} failed as {' and '.join(files)} in the certificate says"
    yield from (f"stale: {name}" for name in run.settled.stale)


def _signed(found: Verification) -> str:
    if not found.is_signed:
        return "not signed: who made it, and that its traces are those of the subject, is not proven"
    if found.signature is None:
        return "signed, and not checked: there is no ssh-keygen here"
    if found.signature.signer is None:
        return f"signed with the key {found.signature.key}; whose that is, is checked with --signer FILE"
    return f"signed by {found.signature.signer} with the key {found.signature.key}"


def _named(ids: tuple[str, ...] | list[str]) -> str:
    more = ", …" if len(ids) > _NAMED_MAX else ""
    return f"{len(ids)} case{'s' if len(ids) != 1 else ''} ({', '.join(ids[:_NAMED_MAX])}{more})"
