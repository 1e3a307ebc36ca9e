from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.harness.reports.bundle.keys import key
from tests.harness.reports.bundle.made import CLOSE, REJOIN, client, unpacked

from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage
from groupproof.harness.model.report_paths import case_place
from groupproof.harness.reports.bundle import pack
from groupproof.harness.reports.bundle.manifest import UserChoices
from groupproof.harness.reports.bundle.pack import check_bundle, expectation_names, write_bundle
from groupproof.harness.reports.report_writer import write_report


@pytest.mark.slow
def test_a_certificate_holds_what_its_verdicts_rest_on_and_nothing_else() -> None:
    close, rejoin = case_place(CLOSE), case_place(REJOIN)

    assert set(client().files) == {
        "manifest.json", "report.json", "expectations/1-known.toml", f"{rejoin}/plan.json", f"{rejoin}/trace.ndjson",
        f"{close}/plan.json", f"{close}/trace.ndjson", f"{close}/trace-2.ndjson", f"{close}/trace-3.ndjson",
    }  # fmt: skip
    report = json.loads(client().files["report.json"])
    assert {case["replay"] for case in report["cases"]} == {f"groupproof replay {place}/plan.json" for place in (close, rejoin)}


@pytest.mark.slow
def test_the_same_run_is_packed_to_the_same_bytes(tmp_path: Path) -> None:
    write_report(client().summary, tmp_path / "report")
    for name in ("a", "b"):
        write_bundle(client().summary, tmp_path / "report", tmp_path / name, choices=UserChoices())

    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "report"]
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o644


@pytest.mark.slow
def test_a_signature_lies_beside_the_manifest(tmp_path: Path) -> None:
    write_report(client().summary, tmp_path / "report")
    write_bundle(client().summary, tmp_path / "report", tmp_path / "out", choices=UserChoices(), key=key(tmp_path, "mine"))

    assert unpacked((tmp_path / "out").read_bytes())["manifest.json.sig"].startswith(b"-----BEGIN SSH SIGNATURE-----")


def test_what_keeps_a_certificate_from_being_written_is_reported_before_a_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    check_bundle(tmp_path / "new" / "out.tar.zst", None)
    assert list((tmp_path / "new").iterdir()) == []
    with pytest.raises(BrokenEnvironment, match="is a folder"):
        check_bundle(tmp_path, None)
    with pytest.raises(BrokenEnvironment, match="choose another --bundle"):
        check_bundle(tmp_path / "file" / "out.tar.zst", None)
    with pytest.raises(WrongUsage, match="can't read the key"):
        check_bundle(tmp_path / "out.tar.zst", tmp_path / "no-key")


@pytest.mark.slow
def test_a_trace_that_is_gone_or_too_long_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenEnvironment, match="for the certificate: No such file"):
        write_bundle(client().summary, tmp_path, tmp_path / "out", choices=UserChoices())
    write_report(client().summary, tmp_path / "report")
    monkeypatch.setattr(pack, "FILE_BYTES_MAX", 100)
    with pytest.raises(BrokenEnvironment, match="leave its case out with --skip"):
        write_bundle(client().summary, tmp_path / "report", tmp_path / "out", choices=UserChoices())


def test_files_of_known_failures_are_distinguished_and_their_names_are_safe() -> None:
    paths = [Path("a/known.toml"), Path("b/known.toml"), Path("c/my ‘own’.toml")]

    assert expectation_names(paths) == ["expectations/1-known.toml", "expectations/2-known.toml", "expectations/3-my__own_.toml"]
