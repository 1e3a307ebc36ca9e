from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.commands.calling import Call, odd

from groupproof.harness.running.plans.early_end import EarlyEnd
from groupproof.harness.subjects import subject as subject_module
from groupproof.protocol.trace import Observation

CASE = "leave/classic/close"


@pytest.mark.slow
def test_the_reference_is_certified_and_its_report_lies_in_a_folder_of_its_name(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("certify", "client", "groupproof", "--only", CASE)

    assert called.code == 2  # a selection does not make the grade
    assert "PARTIAL 1/" in called.out
    (folder,) = (tmp_path / "reports").iterdir()
    assert folder.name.startswith("groupproof-")
    assert f"report: reports/{folder.name}/report.html" in called.out
    assert (folder / "cases" / CASE / "plan.json").is_file()


@pytest.mark.slow
def test_with_json_stdout_is_the_report_and_nothing_else(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("certify", "client", "groupproof", "--only", CASE, "--json", "--output", "out", "--seed", "0x10")

    assert called.json["schema"] == "groupproof.report/1"
    assert called.json["run"]["seed"] == 16
    assert [(case["id"], case["verdict"], case["time"]) for case in called.json["cases"]] == [(CASE, "OK", "virtual")]
    assert "report: out/report.html" in called.err
    assert (tmp_path / "out" / "report.json").is_file()


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        ("kafka-pyton", "did you mean kafka-python"),
        ("kafka-python@newest", "'newest' is not a release number"),
        ("groupproof@1", "has no releases to choose from"),
    ],
)
def test_an_unknown_client_or_release_is_wrong_usage(subject: str, message: str, groupproof: Call) -> None:
    called = groupproof("certify", "client", subject)

    assert called.code == 3
    assert message in called.complaint


def test_a_release_that_cannot_speak_to_the_profile_is_wrong_usage(groupproof: Call) -> None:
    called = groupproof("certify", "client", "java@4.1.1", "--profile", "kafka-1.1")

    assert called.code == 3
    assert "not to profile kafka-1.1" in called.complaint


def test_a_folder_that_cannot_be_written_is_reported_before_anything_runs(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    called = groupproof("certify", "client", "groupproof", "--output", "file/report")

    assert called.code == 4
    assert "choose another --output" in called.complaint


def test_a_program_that_is_not_there_is_the_environments_fault(groupproof: Call) -> None:
    called = groupproof("certify", "client", "--", "/no/such/program")

    assert called.code == 4
    assert "can't start /no/such/program: No such file or directory" in called.complaint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oddity", "message"),
    [
        ("crashes at once", "exited with status 1 before its client spoke"),
        ("cannot run here", "needs Windows"),
        ("says nothing", "no hello within 1 s"),
        ("is deaf", "hello came; a made-up command was not answered within 1 s"),
        ("says yes to all", "a command that does not exist"),
    ],
)
def test_a_shim_that_does_not_get_going_is_broken(oddity: str, message: str, groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_module, "HELLO_S", 1.0 if "no hello" in message else 60.0)
    monkeypatch.setattr(subject_module, "FIRST_ANSWER_S", 1.0)

    called = groupproof("certify", "client", *odd(oddity))

    assert called.code == 4
    assert message in called.complaint


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oddity", "case", "message"),
    [
        ("crashes on subscribe", CASE, "exited with status 7 before its client spoke: Segmentation fault"),
        ("breaks a line", CASE, "a line that starts with { is no JSON"),
        ("has no pause", "poll/classic/stopped-leaves", "claims pause, yet answers unimplemented"),
    ],
)
def test_a_shim_that_breaks_its_contract_is_broken_and_never_failed(oddity: str, case: str, message: str, groupproof: Call) -> None:
    called = groupproof("certify", "client", "--only", case, "--output", "out", *odd(oddity))

    assert called.code == 4
    assert f"BROKEN {case}" in called.out
    assert message in called.out


@pytest.mark.slow
def test_a_shim_that_lies_about_its_client_id_is_broken_and_never_failed(groupproof: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan waits for a member whom it never sees: here it is over as soon as the stranger has joined."""

    def listen(end: EarlyEnd, obs: Observation) -> None:
        if (obs.client, obs.kind, obs.api) == ("somebody", "response", "SyncGroup"):
            end._stop()

    monkeypatch.setattr(EarlyEnd, "feed", listen)
    called = groupproof("certify", "client", "--only", CASE, "--output", "out", *odd("lies about its client id"))

    assert called.code == 4
    assert f"BROKEN {CASE}" in called.out
    assert "which no member was told to be" in called.out


@pytest.mark.slow
def test_the_shim_to_debug_is_printed(groupproof: Call) -> None:
    called = groupproof("certify", "client", "--hold", CASE, "--output", "out", *odd("none"))

    assert f"{CASE}: m0 is process " in called.err
    assert "odd_shim.py none" in called.err
