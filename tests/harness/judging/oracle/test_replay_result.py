from __future__ import annotations

from tests.harness.judging.oracle.recording import Recording

from groupproof.harness.judging.oracle.exchanges import histories
from groupproof.harness.judging.oracle.replay_result import Divergence, ReplayResult, Step


def test_a_replay_without_a_divergence_did_all_steps_and_a_step_is_as_expected_until_it_is_not() -> None:
    recording = Recording()
    recording.stable("a")
    exchange = histories(recording.end())[0].exchanges[0]
    step = Step(exchange=exchange, at_ms=0, before=None)

    assert (step.idle, step.instead, step.expected) == ((), None, None)
    assert ReplayResult(steps=(step,), forks=(), transitions=(), names={}).divergence is None
    assert (Divergence(kind="other", step=step).differences, Divergence(kind="other", step=step).why) == ((), "")
