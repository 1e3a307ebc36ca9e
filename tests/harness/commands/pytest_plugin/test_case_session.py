from __future__ import annotations

import json

import pytest
from tests.harness.commands.pytest_plugin.made import CASE, OTHER

from groupproof.clients.shims import reference
from groupproof.harness.commands.pytest_plugin import case_session as session

pytest_plugins = ["pytester"]

ID, ID_TOO = f"groupproof::{CASE.id}", f"groupproof::{OTHER.id}"
OWN = "import pytest\n@pytest.fixture\ndef group(): return 7\ndef test_own(group): assert group == 7\n"
CONFIGURED = f"[pytest]\ngroupproof_client = groupproof\ngroupproof_only =\n  {CASE.id}\n  {OTHER.id}\n"


def _run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    assert session.__doc__
    return pytester.runpytest_inprocess("-p", "no:randomly", "-W", "error", *arguments)


def test_cases_are_items_beside_the_tests_of_ones_own_and_a_report_is_written(pytester: pytest.Pytester) -> None:
    pytester.makeini(CONFIGURED)
    pytester.makepyfile(test_own=OWN)

    result = _run(pytester, "-v", "--junit-xml=junit.xml")

    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(["test_own.py::test_own PASSED*", f"{ID_TOO} PASSED*", f"{ID} PASSED*", "PARTIAL 2/*groupproof*2 OK*"])
    assert [case["id"] for case in json.loads((pytester.path / "reports" / _only(pytester) / "report.json").read_text())["cases"]] == [
        OTHER.id,
        CASE.id,
    ]
    assert f'classname="groupproof" name="{CASE.id}"' in (pytester.path / "junit.xml").read_text()


def _only(pytester: pytest.Pytester) -> str:
    (folder,) = (pytester.path / "reports").iterdir()
    return folder.name


def test_items_are_collected_without_anything_being_run(pytester: pytest.Pytester) -> None:
    result = _run(pytester, "--collect-only", "-q", "--groupproof-client", "no-such-shim -x", "--groupproof-only", CASE.id)

    result.stdout.fnmatch_lines([ID, "1 test collected*"])
    assert result.ret == 0
    assert not (pytester.path / "reports").exists()


def test_a_case_can_be_chosen_by_its_node_id_keyword_requirement_and_mark(pytester: pytest.Pytester) -> None:
    pytester.makeini(CONFIGURED)
    pytester.makepyfile(test_own=OWN)

    for chosen, count in (((ID,), 1), (("groupproof",), 2), (("-k", "illegal"), 1), (("-k", CASE.requirements[0]), 2), (("-m", "groupproof"), 2)):
        result = _run(pytester, "--collect-only", "-q", *chosen)
        assert len([line for line in result.outlines if line.startswith("groupproof::")]) == count, chosen
        assert "test_own.py::test_own" not in result.outlines


def test_a_user_who_runs_one_file_does_not_run_the_cases_of_the_configuration(pytester: pytest.Pytester) -> None:
    pytester.makeini(CONFIGURED)
    pytester.makepyfile(test_own=OWN)

    _run(pytester, "test_own.py").assert_outcomes(passed=1)
    own_and_case = _run(pytester, "--collect-only", "-q", "test_own.py", ID)
    assert [line for line in own_and_case.outlines if "::" in line] == ["test_own.py::test_own", ID]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--groupproof-client", "kafka-pyton"), "*did you mean kafka-python*"),
        (
            ("--groupproof-client", "groupproof", "groupproof::heartbeat/classic/illegal-generatoin"),
            "*did you mean heartbeat/classic/illegal-generation*",
        ),
        (("--groupproof-client", "groupproof", "--groupproof-level", "may"), "*a level is one of must, should, info*"),
        ((ID,), "*nobody is under test: say --groupproof-client or --groupproof-coordinator*"),
    ],
)
def test_wrong_usage_ends_the_session_before_anything_runs(pytester: pytest.Pytester, arguments: tuple[str, ...], message: str) -> None:
    result = _run(pytester, *arguments)

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_expectations_are_strict(pytester: pytest.Pytester) -> None:
    pytester.makefile(
        ".toml",
        known=f'[[known]]\ncase = "{CASE.id}"\nsubject = ""\nverdict = "FAILED"\nfingerprint = "f00f00f00f00"\nreason = "x"\nurl = "https://example.org"\n',
    )

    result = _run(pytester, "--groupproof-client", "groupproof", "--groupproof-only", CASE.id, "--groupproof-expect", "known.toml")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["stale expectation: known.toml, entry 1*", "*requirement *", "*replay *groupproof replay reports/*"])
    assert "Traceback" not in result.stdout.str()


def test_a_coordinator_is_run_likewise(pytester: pytest.Pytester) -> None:
    result = _run(pytester, "--groupproof-coordinator", "groupproof", "--groupproof-only", "heartbeat/classic/no-group", "--groupproof-output", "out")

    result.assert_outcomes(passed=1)
    assert json.loads((pytester.path / "out" / "report.json").read_text())["subject"]["side"] == "coordinator"


@pytest.mark.slow
def test_cases_of_the_consumer_protocol_are_items_and_skipped_for_who_does_not_speak_it(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = ("groupproof::join/consumer/first-heartbeat", ID)
    _run(pytester, "--groupproof-client", "groupproof", *both).assert_outcomes(passed=2)

    monkeypatch.setattr(reference, "CAPABILITIES", tuple(name for name in reference.CAPABILITIES if name != "consumer"))
    result = _run(pytester, "-rs", "--groupproof-client", "groupproof", *both)

    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["*Its shim declares no consumer.*"])
    assert result.ret == 0
