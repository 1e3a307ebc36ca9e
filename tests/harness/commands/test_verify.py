from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.commands.calling import Call
from tests.harness.reports.bundle.keys import key
from tests.harness.reports.bundle.made import CLOSE, client, coordinator, edited, packed

pytestmark = pytest.mark.slow


def test_a_certificate_that_holds_says_what_it_shows_and_what_it_does_not(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "out.tar.zst").write_bytes(client().contents)

    called = groupproof("verify", "out.tar.zst")

    assert called.code == 2  # the run was not whole
    lines = called.out.splitlines()
    assert lines[0].startswith("HOLDS  out.tar.zst: groupproof ")
    assert lines[0].endswith(", a client, by kafka-4.1, seed 1")
    assert lines[1].startswith("PARTIAL 2/")
    assert "1 OK, 1 EXCUSED; each verdict recomputed from 4 traces" in lines[1]
    assert lines[2].startswith("left out: ")
    assert lines[3] == f"excused: 1 case ({CLOSE}) failed as expectations/1-known.toml in the certificate says"
    assert lines[4] == "not signed: who made it, and that its traces are those of the subject, is not proven"
    assert lines[5].startswith("reproduce: groupproof certify client groupproof --profile kafka-4.1 --seed 1 --only ")


def test_one_that_was_altered_is_refused_and_says_in_what(groupproof: Call, tmp_path: Path) -> None:
    files = edited(client().files, "report.json", lambda report: report["totals"].update(OK=5))
    (tmp_path / "out.tar.zst").write_bytes(packed(files))

    called = groupproof("verify", "out.tar.zst")

    assert called.code == 1
    assert called.out.splitlines()[0] == "ALTERED  out.tar.zst is refused:"
    assert "  report.json was changed: its SHA-256 is " in called.out
    assert "  report.json: totals.OK is 5; it comes to 1" in called.out


def test_one_whose_hashes_all_fit_leaves_two_explanations(groupproof: Call, tmp_path: Path) -> None:
    files = edited(client().files, "manifest.json", lambda manifest: manifest.update(grade="PASSED"))
    (tmp_path / "out.tar.zst").write_bytes(packed(files))

    called = groupproof("verify", "out.tar.zst")

    assert called.code == 1
    assert "created again after the change, or by another build of this release" in called.out.splitlines()[-1]


def test_as_json_it_says_the_same(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "holds").write_bytes(coordinator().contents)
    (tmp_path / "altered").write_bytes(coordinator().contents[:-30])

    holds, altered = groupproof("verify", "holds", "--json"), groupproof("verify", "altered", "--json")

    assert (holds.json["holds"], holds.json["altered"], holds.json["subject"]["side"]) == (True, [], "coordinator")
    assert holds.json["totals"] == coordinator().summary.totals
    assert holds.json["reproduce"].startswith("groupproof certify coordinator ")
    assert (altered.code, altered.json["holds"], altered.json["grade"]) == (1, False, None)


def test_what_is_no_certificate_is_wrong_usage_in_one_line(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("nothing")

    called = groupproof("verify", "text")

    assert called.code == 3
    assert called.complaint == "groupproof: text can't be verified: it is not compressed by Zstandard"


def test_a_run_is_certified_signed_and_verified(groupproof: Call, tmp_path: Path) -> None:
    mine = key(tmp_path, "mine")
    (tmp_path / "signers").write_text(f"me@example.org {mine.with_suffix('.pub').read_text()}")

    made = groupproof("certify", "client", "groupproof", "--only", CLOSE, "--bundle", "new/out.tar.zst", "--sign", mine, "--output", "report")

    assert made.code == 2
    assert made.err.splitlines()[-1] == f"certificate: new/out.tar.zst, signed with {mine}"
    assert "signed with the key SHA256:" in groupproof("verify", "new/out.tar.zst").out
    verified = groupproof("verify", "new/out.tar.zst", "--signer", "signers")
    assert "signed by me@example.org with the key SHA256:" in verified.out
    assert "expectations/1-groupproof.toml" in verified.out.splitlines()[-1]


def test_a_coordinators_run_is_certified_and_verified(groupproof: Call) -> None:
    groupproof("certify", "coordinator", "groupproof", "--only", "heartbeat/classic/no-group", "--bundle", "out.tar.zst", "--output", "report")

    called = groupproof("verify", "out.tar.zst")

    assert called.code == 2
    assert "a coordinator, by kafka-4.1" in called.out
