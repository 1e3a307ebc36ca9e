"""The certificate of a certification: checks its options before the run, and packs it afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from groupproof.harness.commands.base.options import RunOptions

if TYPE_CHECKING:
    from groupproof.harness.reports.bundle.manifest import UserChoices
    from groupproof.harness.running.runs.whole_run import RunOutcome

__all__ = ["check_bundling", "choices_of", "pack_outcome"]


def check_bundling(options: RunOptions) -> None:
    """Raise `click.UsageError` for options that contradict a certificate, and `RunError` where it cannot be written or signed."""
    if options.bundle is None:
        if options.sign is not None:
            raise click.UsageError("--sign signs a certificate, and there is none: name its file with --bundle")
        return
    if options.shard is not None and options.shard.of > 1:
        raise click.UsageError("a certificate is of a whole run, and --shard runs a part of one; leave one of --bundle and --shard out")
    from groupproof.harness.reports.bundle.pack import check_bundle

    check_bundle(options.bundle, options.sign)


def pack_outcome(options: RunOptions, outcome: RunOutcome, report: Path, expectations: Sequence[Path]) -> str:
    """Write the certificate of a run, and return a line with its path and its signer; empty without `--bundle`."""
    if options.bundle is None:
        return ""
    from groupproof.harness.reports.bundle.pack import write_bundle

    choices = choices_of(options, outcome.gave_up)
    write_bundle(outcome.summary, report, options.bundle, choices=choices, expectations=expectations, key=options.sign)
    by = f"signed with {options.sign}" if options.sign is not None else "not signed, so that it does not prove who made it (--sign)"
    return f"certificate: {options.bundle}, {by}"


def choices_of(options: RunOptions, gave_up: str | None) -> UserChoices:
    """Return the options that are needed to repeat the run."""
    from groupproof.harness.reports.bundle.manifest import UserChoices

    others = {"--shim-level": options.shim_level, "--timeout": options.timeout, "--variant": options.variant}
    words = [word for name, value in others.items() if value is not None for word in (name, str(value))]
    return UserChoices(only=options.only if options.hold is None else (options.hold,), skip=options.skip, others=words, gave_up=gave_up)
