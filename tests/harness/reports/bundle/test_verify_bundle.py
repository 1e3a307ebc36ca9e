from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.harness.reports.bundle.keys import key
from tests.harness.reports.bundle.made import CLOSE, REJOIN, Files, altered_by, client, coordinator, edited, packed, rehashed, verified

from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.report_paths import case_place
from groupproof.harness.reports.bundle.signature import sign

pytestmark = pytest.mark.slow

TRACE = f"{case_place(CLOSE)}/trace.ndjson"
OTHER = f"{case_place(REJOIN)}/trace.ndjson"
KNOWN = "expectations/1-known.toml"

Edit = Callable[[Any], object]


def case_of(report: dict[str, Any], id: str) -> dict[str, Any]:
    found: dict[str, Any] = next(case for case in report["cases"] if case["id"] == id)
    return found


def set_case(id: str, /, **fields: Any) -> Edit:
    return lambda report: case_of(report, id).update(fields)


def without(files: Files, *ids: str) -> Files:
    """Drop cases, their files, and each count of them, and hash anew."""
    kept = {name: data for name, data in files.items() if not any(name.startswith(f"{case_place(id)}/") for id in ids)}

    def drop(report: dict[str, Any]) -> None:
        for case in [case for case in report["cases"] if case["id"] in ids]:
            report["totals"][case["verdict"]] -= 1
            report["cases"].remove(case)
        report["grade"] = report["grade"].replace("2/", "1/")

    def forget(manifest: dict[str, Any]) -> None:
        manifest["selected"] = [id for id in manifest["selected"] if id not in ids]
        manifest["grade"] = manifest["grade"].replace("2/", "1/")

    return rehashed(edited(edited(kept, "report.json", drop), "manifest.json", forget))


@pytest.mark.parametrize("made", [client, coordinator])
def test_a_certificate_of_a_real_run_holds_and_comes_to_the_same_verdicts(made: Any, tmp_path: Path) -> None:
    found = verified(made().contents, tmp_path)

    assert found.altered == ()
    assert found.summary is not None
    assert found.summary.to_json() == made().summary.to_json()
    assert not found.is_signed


def test_repetition_and_known_failures_are_recomputed_too(tmp_path: Path) -> None:
    found = verified(client().contents, tmp_path)

    assert found.summary is not None
    verdicts = {case.case.id: (case.verdict.value, case.result.ruling.stability) for case in found.summary.cases}
    assert verdicts == {CLOSE: ("EXCUSED", "3/3"), REJOIN: ("OK", "1/1")}
    assert found.traces == 4
    assert {CLOSE, REJOIN}.isdisjoint(found.left_out)


def flipped(files: Files) -> Files:
    contents = bytearray(files[TRACE])
    contents[contents.index(b'"at_ns":') + 8] ^= 1
    return {**files, TRACE: bytes(contents)}


def swapped(files: Files) -> Files:
    return rehashed({**files, TRACE: files[OTHER], OTHER: files[TRACE]})


def verdict_altered(files: Files) -> Files:
    def edit(report: dict[str, Any]) -> None:
        case_of(report, CLOSE)["verdict"] = "OK"
        report["totals"]["EXCUSED"] -= 1
        report["totals"]["OK"] += 1

    return rehashed(edited(files, "report.json", edit))


def expectations_swapped(files: Files) -> Files:
    return rehashed({**files, KNOWN: b""})


def case_hidden_as_lacking(files: Files) -> Files:
    kept = {name: data for name, data in files.items() if not name.startswith(f"{case_place(CLOSE)}/trace")}
    changed = edited(kept, "report.json", set_case(CLOSE, verdict="UNIMPLEMENTED", stability="0/0", trace=None))
    return rehashed(changed)


def line_taken_out(files: Files) -> Files:
    lines = files[TRACE].splitlines(keepends=True)
    return rehashed({**files, TRACE: b"".join(lines[:9] + lines[10:])})


def repetition_copied(files: Files) -> Files:
    place = case_place(CLOSE)
    return rehashed({**files, f"{place}/trace-2.ndjson": files[TRACE]})


def repetition_dropped(files: Files) -> Files:
    kept = {name: data for name, data in files.items() if not name.startswith(f"{case_place(CLOSE)}/trace-")}
    return rehashed(edited(kept, "report.json", set_case(CLOSE, stability="1/1")))


def version_altered(files: Files) -> Files:
    changed = edited(files, "report.json", lambda report: report["subject"].update(version="9.9"))
    return rehashed(edited(changed, "manifest.json", lambda manifest: manifest["subject"].update(version="9.9")))


def in_manifest(edit: Edit) -> Callable[[Files], Files]:
    return lambda files: edited(files, "manifest.json", edit)


def in_report(edit: Edit) -> Callable[[Files], Files]:
    return lambda files: rehashed(edited(files, "report.json", edit))


@pytest.mark.parametrize(
    ("tamper", "named"),
    [
        (flipped, f"{TRACE} was changed: its SHA-256 is"),
        (verdict_altered, f'report.json: cases.{CLOSE}.verdict is "OK"; it comes to "EXCUSED"'),
        (lambda files: without(files, CLOSE), "REQUIRED"),
        (in_report(lambda report: report["totals"].update(OK=9)), "report.json: totals.OK is 9; it comes to 1"),
        (expectations_swapped, f'cases.{CLOSE}.verdict is "EXCUSED"; it comes to "NON_STRICT"'),
        (in_manifest(lambda manifest: manifest["kit"].update(catalogue_sha256="0" * 64)), "manifest.json: kit.catalogue_sha256 is"),
        (in_manifest(lambda manifest: manifest["required"].remove(CLOSE)), f"manifest.json: required lacks {CLOSE}"),
        (swapped, f"{TRACE}: line 1 is of the case '{REJOIN}'"),
        (version_altered, "report.json: subject.version is '9.9', and '0"),
        (line_taken_out, f"{TRACE}: line 10 has the number 10 where 9 is due"),
        (repetition_copied, f"{case_place(CLOSE)} has the run 1.c"),
        (repetition_dropped, f"{case_place(CLOSE)} has 1 trace, and its verdict rests on 3"),
        (case_hidden_as_lacking, f"{case_place(CLOSE)} has no trace, and so there is no verdict on {CLOSE}"),
        (in_report(lambda report: report.update(grade="PASSED")), 'report.json: grade is "PASSED"; it comes to "PARTIAL 2/'),
        (in_report(lambda report: report["suite"].update(profile="kafka-3.0")), 'suite.profile is "kafka-3.0"; it comes to "kafka-4.1"'),
        (in_manifest(lambda manifest: manifest.update(reproduce="groupproof; rm -rf /")), "manifest.json: reproduce is"),
        (in_manifest(lambda manifest: manifest["run"].update(seed=2)), "is of the run '1.c"),
        (lambda files: rehashed({**files, f"{case_place(CLOSE)}/notes.txt": b"x"}), "notes.txt belongs to no case of the report"),
        (lambda files: {name: value for name, value in files.items() if name != OTHER}, f"{OTHER} is missing"),
        (lambda files: {name: value for name, value in files.items() if name != "report.json"}, "report.json is missing"),
        (lambda files: rehashed({**files, TRACE: b"[]\n"}), f"{TRACE} is no trace: line 1"),
        (lambda files: rehashed({**files, TRACE: b""}), f"{TRACE} is empty"),
        (lambda files: rehashed({**files, "report.json": b"{}"}), "report.json is no report"),
        (in_report(set_case(REJOIN, id="heartbeat/classic/unheard-of")), "a case that groupproof"),
        (in_report(lambda report: report["cases"].append(report["cases"][0])), "twice"),
    ],
)  # fmt: skip
def test_what_was_changed_is_named(tamper: Callable[[Files], Files], named: str, tmp_path: Path) -> None:
    found = altered_by(tamper(client().files), tmp_path)

    if named == "REQUIRED":
        # Whoever drops a case everywhere is left with a run that did not select it: less than was claimed, and told so.
        assert found == ""
        verification = verified(tamper(client().files), tmp_path)
        assert CLOSE in verification.left_out
        assert verification.summary is not None
        assert verification.summary.grade.startswith("PARTIAL 1/")
    else:
        assert named in found


def test_a_case_that_is_dropped_while_it_is_still_selected_or_required_is_named(tmp_path: Path) -> None:
    selected = json.loads(client().files["manifest.json"])["selected"]
    dropped = without(client().files, CLOSE)

    still_selected = rehashed(edited(dropped, "manifest.json", lambda manifest: manifest.update(selected=selected)))
    still_graded = rehashed(edited(dropped, "report.json", lambda report: report.update(grade="PASSED")))

    assert f"report.json lacks {CLOSE}, which was selected, and the run came to its end" in altered_by(still_selected, tmp_path)
    assert 'grade is "PASSED"; it comes to "PARTIAL 1/' in altered_by(still_graded, tmp_path)


def test_a_coordinator_that_is_said_to_be_another_is_given_away_by_its_traces(tmp_path: Path) -> None:
    files = edited(coordinator().files, "report.json", lambda report: report["subject"].update(name="apache-kafka"))
    files = rehashed(edited(files, "manifest.json", lambda manifest: manifest["subject"].update(name="apache-kafka")))

    assert "report.json: subject.name is 'apache-kafka', and 'groupproof:wrong/Heartbeat-v4'" in altered_by(files, tmp_path)


def test_a_coordinators_verdict_is_recomputed(tmp_path: Path) -> None:
    failed = next(case["id"] for case in json.loads(coordinator().files["report.json"])["cases"] if case["verdict"] == "FAILED")
    files = rehashed(edited(coordinator().files, "report.json", set_case(failed, verdict="OK")))

    assert f'cases.{failed}.verdict is "OK"; it comes to "FAILED"' in altered_by(files, tmp_path)


def test_a_signature_by_another_than_is_asked_for_is_named(tmp_path: Path) -> None:
    files, (own, other) = client().files, (key(tmp_path, "own"), key(tmp_path, "other"))
    signed = {**files, "manifest.json.sig": sign(files["manifest.json"], own)}
    by_other = {**files, "manifest.json.sig": sign(files["manifest.json"], other)}
    signers = tmp_path / "signers"
    signers.write_text(f"releases@example.org {own.with_suffix('.pub').read_text()}")

    found = verified(signed, tmp_path, signers=signers)
    assert (found.altered, found.is_signed, found.signature and found.signature.signer) == ((), True, "releases@example.org")
    assert "which belongs to no signer in" in verified(by_other, tmp_path, signers=signers).altered[0]
    assert verified(files, tmp_path, signers=signers).altered == ("it is not signed, and a signature is asked for",)
    changed = edited(signed, "manifest.json", lambda manifest: manifest["made_with"].update(python="2.7"))
    assert "the signature is not one of this manifest" in altered_by(changed, tmp_path)


def test_its_author_and_its_tools_are_claims_that_only_a_signature_proves(tmp_path: Path) -> None:
    files = edited(client().files, "manifest.json", lambda manifest: manifest["made_with"].update(python="2.7"))

    assert altered_by(files, tmp_path) == ""


def test_a_run_that_was_interrupted_is_reported_as_partial(tmp_path: Path) -> None:
    def interrupt(fields: dict[str, Any]) -> None:
        fields["run"]["interrupted"] = True

    selected = json.loads(client().files["manifest.json"])["selected"]
    files = edited(edited(without(client().files, CLOSE), "report.json", interrupt), "manifest.json", interrupt)
    files = rehashed(edited(files, "manifest.json", lambda manifest: manifest.update(selected=selected, unreached=[CLOSE])))

    found = verified(files, tmp_path)

    assert found.altered == ()
    assert found.summary is not None
    assert [case.id for case in found.summary.unreached] == [CLOSE]


def test_a_case_that_could_not_be_carried_through_stays_without_a_verdict(tmp_path: Path) -> None:
    reason = "the disk is full"

    def trouble(report: dict[str, Any]) -> None:
        fields = {
            "verdict": "INCONCLUSIVE",
            "goodbye": "NONE",
            "stability": "0/1",
            "expected": "",
            "observed": reason,
            "fingerprint": None,
            "receipts": 0,
        }
        case_of(report, REJOIN).update(fields)
        report["totals"].update(OK=0, INCONCLUSIVE=1)
        report["grade"] = report["grade"].replace("2/", "1/")

    def trouble_too(manifest: dict[str, Any]) -> None:
        manifest["troubles"] = {REJOIN: {"exit_code": 4, "said": reason}}
        manifest["grade"] = manifest["grade"].replace("2/", "1/")

    plan = f"{case_place(REJOIN)}/plan.json"
    files = edited(edited(client().files, "report.json", trouble), "manifest.json", trouble_too)
    files = rehashed(edited(files, plan, lambda schedule: schedule.update(verdict="INCONCLUSIVE")))

    assert altered_by(files, tmp_path) == ""
    assert f'cases.{REJOIN}.verdict is "OK"' in altered_by(rehashed(edited(files, "report.json", set_case(REJOIN, verdict="OK"))), tmp_path)


def test_one_of_another_release_is_left_to_that_release(tmp_path: Path) -> None:
    files = edited(client().files, "manifest.json", lambda manifest: manifest["kit"].update(version="99.1"))

    with pytest.raises(WrongUsage, match=r"pip install groupproof==99\.1"):
        verified(files, tmp_path)


def test_a_file_that_is_not_there_or_no_certificate_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="can't read the certificate"):
        verified_of(tmp_path / "none")
    (tmp_path / "text").write_text("nothing")
    with pytest.raises(WrongUsage, match="it is not compressed by Zstandard"):
        verified_of(tmp_path / "text")
    (tmp_path / "other").write_bytes(packed({"readme.txt": b"x"}))
    with pytest.raises(WrongUsage, match=r"it begins with 'readme\.txt'"):
        verified_of(tmp_path / "other")


def verified_of(path: Path) -> object:
    from groupproof.harness.reports.bundle.verify_bundle import verify

    return verify(path)
