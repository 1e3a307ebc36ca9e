from __future__ import annotations

import os
import sys
from pathlib import Path

import certify
import pytest

from groupproof.clients.registry.registered_clients import names

# Stands for `groupproof`: notes what it was asked, and exits with the code that stands after the client's @.
FAKE = """
import json, os, pathlib, select, sys
verb, *rest = sys.argv[1:]
pathlib.Path("asked").open("a").write(" ".join(sys.argv[1:]) + "\\n")
if verb == "certify":
    if rest[1] == "pykafka":  # ends when another run lets it
        let_go = os.open("gate", os.O_RDONLY | os.O_NONBLOCK) if os.path.exists("gate") else 0
        print("the lines of pykafka")
        if let_go and not select.select([let_go], [], [], 20)[0]:
            sys.exit(5)
    elif rest[1] == "opens-the-gate":
        os.write(os.open("gate", os.O_WRONLY), b"!")
    folder = pathlib.Path(rest[rest.index("--output") + 1])
    folder.mkdir(parents=True, exist_ok=True)
    cases = [{"id": "static/classic/fenced-heartbeat", "verdict": "INCONCLUSIVE", "observed": "It came in 1 of 3 runs."}]
    (folder / "report.json").write_text(json.dumps({"subject": {"side": "client"}, "grade": "PASSED", "cases": cases}))
    sys.exit(int(rest[1].partition("@")[2] or 0))
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fake.py").write_text(FAKE)
    return [sys.executable, str(tmp_path / "fake.py")]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 2], 2), ([2, 4], 4), ([4, 1, 2], 1), ([1, 3], 3), ([3, 5, 0], 5), ([0, 130], 130), ([0, -9], 5), ([0, 1, 77], 5)],
)
def test_the_most_severe_exit_code_is_the_first_in_the_contracts_order(codes: list[int], expected: int) -> None:
    assert certify.most_severe(codes) == expected


def test_each_client_gets_its_own_folder_and_the_run_ends_with_the_most_severe_code(
    fake: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert certify.main(["a@2", "b@1", "c"], fake) == 1

    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked[0] == "certify client a@2 --output reports/a@2"
    assert asked[3] == "report reports/a@2 reports/b@1 reports/c --output reports"
    printed = capfd.readouterr().out
    assert "b@1                  1: breaks the protocol, or an expectation is stale; reports/b@1/report.html" in printed


def test_a_client_without_a_full_verdict_is_reported_with_what_is_missing(fake: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    assert certify.main(["a@2", "b"], fake) == 2

    lines = capfd.readouterr().out.splitlines()
    assert lines[-7:-1] == [
        "  a@2                  2: no full verdict (PASSED); reports/a@2/report.html",
        "                          1 case is INCONCLUSIVE (It came in 1 of 3 runs): static/classic/fenced-heartbeat",
        "  b                    0: passed; reports/b/report.html",
        "",
        "1 of 2 passed",
        "1 of 2 no full verdict: a@2",
    ]


@pytest.mark.parametrize(
    ("codes", "lines"),
    [
        ([0, 0], ["2 of 2 passed"]),
        ([2, 0, 1], ["1 of 3 passed", "1 of 3 no full verdict: c0", "1 of 3 breaks the protocol, or an expectation is stale: c2"]),
        ([77], ["1 of 1 unknown exit code: c0"]),
    ],
)
def test_the_end_counts_the_verdicts_with_the_most_severe_last(codes: list[int], lines: list[str]) -> None:
    done = [certify.Certification(name=f"c{number}", code=code) for number, code in enumerate(codes)]

    assert list(certify.ending(done)) == lines


def test_the_end_says_what_2_means_where_nothing_is_worse() -> None:
    done = [certify.Certification(name="a", code=2), certify.Certification(name="b", code=0)]

    assert list(certify.ending(done))[-1].startswith("Nothing FAILED but what is known (EXCUSED). The exit code 2 says")


def test_an_interrupted_client_ends_the_run(fake: list[str], tmp_path: Path) -> None:
    assert certify.main(["a@130", "b"], fake) == 130

    assert "client b" not in (tmp_path / "asked").read_text()


def test_a_client_whose_toolchain_is_absent_ends_with_4_and_says_how_to_get_it(fake: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    done = certify.certify(["a@4", "b@0", "c@4"], fake, absent=lambda name: ("no go here: install Go",) if name == "a@4" else ())

    assert [(certification.code, certification.absent) for certification in done] == [(4, ("no go here: install Go",)), (0, ()), (4, ())]
    assert list(certify.summary(done))[:1] == ["  a@4                  4: absent: no go here: install Go"]
    assert capfd.readouterr().out


@pytest.mark.parametrize(
    ("subject", "programs"),
    [("java@4.1.0", ["javac", "mvn"]), ("sarama", ["go"]), ("kafkajs@2.0.2", ["node", "npm"]), ("groupproof", []), ("nobody", [])],
)
def test_what_a_client_lacks_is_what_its_toolchain_lacks(subject: str, programs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)

    lines = certify.absent_programs(subject)
    assert [program for program in programs if not any(line.startswith(f"no {program} here: install ") for line in lines)] == []
    assert bool(lines) is bool(programs)


@pytest.mark.slow
def test_all_means_every_registered_client(fake: list[str], tmp_path: Path) -> None:
    assert certify.main(["all"], fake) == 0

    asked = (tmp_path / "asked").read_text().splitlines()
    assert sorted(line.split()[2] for line in asked[:-1]) == list(names())


def test_what_has_a_verdict_is_not_run_again_when_a_run_is_resumed(fake: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert certify.main(["a@1", "b@4", "c@130", "d"], fake) == 130
    (tmp_path / "asked").unlink()

    assert certify.main(["--resume", "a@1", "b@4", "d"], fake) == 1

    asked = (tmp_path / "asked").read_text().splitlines()
    assert [line.split()[2] for line in asked if line.startswith("certify")] == ["b@4", "d"]
    assert "a@1                  1: breaks the protocol, or an expectation is stale, kept" in capfd.readouterr().out


def test_a_client_that_waits_runs_beside_the_others_and_is_shown_last(fake: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "gate")

    assert certify.main(["a", "pykafka", "opens-the-gate"], fake) == 0

    printed = capfd.readouterr().out
    order = ["=== a\n", "=== opens-the-gate\n", "=== pykafka\nthe lines of pykafka\n", "  a  ", "  pykafka  ", "  opens-the-gate  "]
    assert sorted(order, key=printed.index) == order


def test_a_client_that_waits_is_ended_with_the_run_that_is_interrupted(fake: list[str], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "gate")

    assert certify.main(["pykafka", "b@130", "c"], fake) == 130

    assert "pykafka" not in capfd.readouterr().out
    assert not (tmp_path / "reports" / "pykafka").exists()


def test_a_run_of_another_kit_is_not_resumed(fake: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certify.main(["a"], fake)
    monkeypatch.setattr(certify, "release", lambda: "99.0")

    certify.main(["--resume", "a"], fake)

    assert (tmp_path / "asked").read_text().count("certify client a ") == 2
