from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
import pytest
from tests.harness.commands.base.test_certification import OPTIONS
from tests.harness.reports.bundle.made import CLOSE, client

from groupproof.harness.commands.base.certificate_option import check_bundling, choices_of, pack_outcome
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.reports.report_writer import write_report
from groupproof.harness.running.runs.whole_run import RunOutcome


def test_options_that_make_no_certificate_together_are_wrong_usage(tmp_path: Path) -> None:
    bundle = tmp_path / "out.tar.zst"

    check_bundling(OPTIONS)
    check_bundling(replace(OPTIONS, bundle=bundle))
    with pytest.raises(click.UsageError, match="name its file with --bundle"):
        check_bundling(replace(OPTIONS, sign=tmp_path / "key"))
    with pytest.raises(click.UsageError, match="a certificate is of a whole run"):
        check_bundling(replace(OPTIONS, bundle=bundle, shard=Share.read("1/2")))
    with pytest.raises(WrongUsage, match="can't read the key"):
        check_bundling(replace(OPTIONS, bundle=bundle, sign=tmp_path / "key"))


def test_what_was_chosen_is_what_it_takes_to_have_the_run_again() -> None:
    choices = choices_of(replace(OPTIONS, only=("a",), skip=("b",), shim_level="0", timeout=2.5, variant="x"), "the disk is full")

    assert (choices.only, choices.skip, choices.gave_up) == (("a",), ("b",), "the disk is full")
    assert choices.others == ["--shim-level", "0", "--timeout", "2.5", "--variant", "x"]
    assert choices_of(replace(OPTIONS, hold=CLOSE), None).only == (CLOSE,)


@pytest.mark.slow
def test_a_line_tells_where_the_certificate_lies_and_that_nobody_signed_it(tmp_path: Path) -> None:
    outcome = RunOutcome(summary=client().summary, exit_code=0)
    write_report(outcome.summary, tmp_path / "report")

    assert pack_outcome(OPTIONS, outcome, tmp_path / "report", []) == ""
    text = pack_outcome(replace(OPTIONS, bundle=tmp_path / "out.tar.zst"), outcome, tmp_path / "report", [])
    assert text == f"certificate: {tmp_path / 'out.tar.zst'}, not signed, so that it does not prove who made it (--sign)"
    assert (tmp_path / "out.tar.zst").is_file()
