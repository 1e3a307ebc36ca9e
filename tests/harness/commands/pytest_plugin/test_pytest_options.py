from __future__ import annotations

import sys
from pathlib import Path

import pytest

from groupproof.harness.commands.pytest_plugin.pytest_options import PytestOptions, options_of

pytest_plugins = ["pytester"]


def _wishes(pytester: pytest.Pytester, *arguments: str) -> PytestOptions:
    return options_of(pytester.parseconfig("-p", "no:randomly", *arguments))


def test_a_registered_name_is_no_program_and_takes_the_defaults(pytester: pytest.Pytester) -> None:
    options = _wishes(pytester, "--groupproof-client", "kafka-python@2.2.3")

    assert (options.side, options.named, options.program) == ("client", "kafka-python@2.2.3", ())
    assert (options.level, options.seed, options.jobs, options.output) == ("info", 1, None, None)


def test_python_is_the_one_that_runs_pytest(pytester: pytest.Pytester) -> None:
    assert _wishes(pytester, "--groupproof-client", "python 'my shim.py' --quick").program == (sys.executable, "my shim.py", "--quick")


def test_a_program_in_the_file_is_found_from_a_folder_below(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeini("[pytest]\ngroupproof_client = python shim.py\ngroupproof_expect = known.toml\ngroupproof_only =\n  join\n  HB-03\n")
    shim = pytester.makepyfile(shim="")
    (pytester.path / "below").mkdir()
    monkeypatch.chdir(pytester.path / "below")

    options = _wishes(pytester)

    assert options.program == (sys.executable, str(shim))
    assert options.expect == (pytester.path / "known.toml",)
    assert options.only == ("join", "HB-03")


def test_the_command_line_goes_before_the_file(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ngroupproof_client = aiokafka\ngroupproof_profile = kafka-2.4\ngroupproof_jobs = 3\ngroupproof_shim_level = 0\n")

    options = _wishes(
        pytester, "--groupproof-coordinator", "kfake", "--groupproof-seed", "0x1f", "--groupproof-output", "out", "--groupproof-jobs", "5"
    )

    assert (options.side, options.named, options.profile, options.seed, options.jobs) == ("coordinator", "kfake", "kafka-2.4", 31, 5)
    assert options.output == Path("out")
    assert options.shim_level == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--groupproof-level", "may"), "a level is one of must, should, info"),
        (("--groupproof-seed", "x"), "a seed is an integer"),
        (("--groupproof-jobs", "0"), "a number above 0"),
        (("--groupproof-timeout", "soon"), "takes a number"),
        (("--groupproof-shim-level", "2"), "0 or 1"),
        (("--groupproof-fail-on", "late"), "late: unknown"),
        (("--groupproof-coordinator", "kfake"), "one under test"),
        (("--groupproof-client", "python 'shim"), "No closing quotation"),
    ],
)
def test_a_value_that_cannot_be_is_wrong_usage(pytester: pytest.Pytester, arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(pytest.UsageError, match=message):
        _wishes(pytester, "--groupproof-client", "aiokafka", *arguments)
