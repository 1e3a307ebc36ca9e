from __future__ import annotations

import sys

import pytest
from tests.harness.commands.calling import ODD_SHIM
from tests.harness.running.shim_check.named_problem import CheckUntilNamed

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.running.shim_check import dialogue, shim_check
from groupproof.harness.running.shim_check.shim_check import ShimCheck
from groupproof.harness.subjects.shims.shim_process import Program

pytestmark = pytest.mark.slow


def odd(oddity: str) -> Program:
    """Return a shim that is odd in one way."""
    return Program(argv=(sys.executable, str(ODD_SHIM), oddity))


def check(oddity: str) -> list[str]:
    return ShimCheck(odd(oddity), say=lambda _: None).run()


@pytest.mark.parametrize(
    ("oddity", "problem"),
    [
        ("crashes at once", "the shim exited with status 1 before it had answered a command; its last words: no module named kafka"),
        ("says yes to all", "a command that does not exist; the contract asks for unimplemented"),
        ("crashes on subscribe", "the shim exited with status 7 instead of answering subscribe"),
    ],
)
def test_a_shim_that_does_not_get_going_has_one_problem(oddity: str, problem: str) -> None:
    (found,) = check(oddity)

    assert problem in found


@pytest.mark.parametrize(
    ("oddity", "problem"), [("says nothing", "no hello within 1 s"), ("is deaf", "a made-up command was not answered within 1 s")]
)
def test_silence_is_a_problem(oddity: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shim_check, "HELLO_S", 1.0 if oddity == "says nothing" else 60.0)
    monkeypatch.setattr(shim_check, "ANSWER_S", 1.0)

    assert check(oddity) == [problem]


def test_a_shim_that_cannot_run_here_has_no_problem_of_its_own() -> None:
    with pytest.raises(BrokenEnvironment, match="needs Windows"):
        check("cannot run here")


@pytest.mark.parametrize(
    ("oddity", "problem"),
    [
        ("has no pause", "pause is answered unimplemented (no such thing), although hello declares pause"),
        ("lies about its client id", "a claim does not hold: client_id: requests came as 'somebody', which no member was told to be (m0)"),
    ],
)
def test_a_lie_is_found_on_the_way_through_every_command(oddity: str, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogue, "EVENT_S", 20.0)

    assert problem in CheckUntilNamed(odd(oddity), problem).run()
