"""The compiled wheel: what it names is there, it carries the right tag, and its check sees what differs."""

from __future__ import annotations

import zipfile
from pathlib import Path

import compiled
import compiled_check
import pytest
from packaging.tags import sys_tags
from packaging.utils import parse_wheel_filename
from tests.ci.jobs import ROOT

SOURCES = ("protocol", "coordinator", "clients", "harness", "chaos")


def _exists(module: str) -> bool:
    path = Path(*module.split(".")).with_suffix(".py")
    return any((ROOT / source / path).is_file() for source in SOURCES)


def test_every_module_that_is_compiled_exists_and_is_named_once() -> None:
    modules = compiled.compiled_modules()
    assert len(modules) == len(set(modules))
    assert [module for module in modules if not _exists(module)] == []


def test_the_wheel_is_for_this_python_and_this_platform() -> None:
    tag = compiled.wheel_tag()
    (parsed,) = parse_wheel_filename(f"groupproof-0.1.0-{tag}.whl")[3]
    assert parsed in set(sys_tags())


def _pure(folder: Path) -> Path:
    wheel = folder / "groupproof-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as written:
        written.writestr("groupproof/part.py", "x = 1\n")
        written.writestr("groupproof-0.1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        written.writestr("groupproof-0.1.0.dist-info/RECORD", "groupproof/part.py,,\n")
    return wheel


def test_the_wheel_has_source_and_extension_beside_one_another_and_a_record_of_both(tmp_path: Path) -> None:
    added = tmp_path / "added"
    (added / "groupproof").mkdir(parents=True)
    (added / "groupproof" / "part.so").write_bytes(b"native")
    wheel = compiled.retagged(_pure(tmp_path), added, [Path("groupproof/part.so")], "cp311-cp311-linux_x86_64", tmp_path)
    assert wheel.name == "groupproof-0.1.0-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel) as read:
        assert read.read("groupproof/part.so") == b"native"
        assert read.read("groupproof-0.1.0.dist-info/WHEEL").decode().splitlines() == [
            "Wheel-Version: 1.0", "Root-Is-Purelib: false", "Tag: cp311-cp311-linux_x86_64",
        ]  # fmt: skip
        record = read.read("groupproof-0.1.0.dist-info/RECORD").decode().splitlines()
        assert [line.partition(",")[0] for line in record] == read.namelist()


def test_without_a_compiler_the_build_is_reported_as_absent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("CC", "no-such-compiler --with flags")
    assert compiled.main(["--output", str(tmp_path)]) == compiled.EXIT_ABSENT
    assert "reported as absent: no C compiler no-such-compiler: install one" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_both_builds_run_both_dialects_with_and_without_faults() -> None:
    asked = dict(compiled_check.simulations())
    assert len(asked) == 48
    assert {(simulation.profile, simulation.dialect) for simulation in asked.values()} >= {("kafka-1.1", "classic"), ("kafka-4.4", "consumer")}
    assert {(simulation.members, bool(simulation.faults)) for simulation in asked.values()} == {(3, True), (3, False), (10, True), (10, False)}


def _outcomes_of(file: str, trace_hash: str = "a") -> compiled_check.BuildResult:
    return compiled_check.BuildResult(file=file, took_s=1.0, outcomes={"seed 0": {"hash": trace_hash}})


def test_another_outcome_is_a_difference() -> None:
    assert compiled_check.differences(_outcomes_of("run.py"), _outcomes_of("run.so")) == []
    assert compiled_check.differences(_outcomes_of("run.py"), _outcomes_of("run.so", "b")) == [
        "seed 0: {'hash': 'a'} by the source, {'hash': 'b'} compiled"
    ]


def test_a_build_that_is_not_what_it_should_be_is_a_difference() -> None:
    assert compiled_check.differences(_outcomes_of("run.py"), _outcomes_of("run.py")) == ["run.py ran as the compiled build"]
    assert compiled_check.differences(_outcomes_of("run.so"), _outcomes_of("run.so")) == ["run.so ran as the pure build"]


def test_every_test_that_cannot_run_compiled_is_there_and_has_a_reason() -> None:
    for test, reason in compiled_check.deselected().items():
        assert (ROOT / test.partition("::")[0]).exists(), test
        assert reason.endswith("."), test
