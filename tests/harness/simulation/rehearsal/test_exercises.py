"""The exercises as data: whom they strike, and when."""

from __future__ import annotations

import itertools

from tests.harness.simulation.rehearsal.small import small

from groupproof.harness.simulation.rehearsal.exercises import ACTS, EXERCISES


def test_every_step_is_an_act_on_a_member_that_the_exercise_has() -> None:
    settings = small()
    for exercise in EXERCISES.values():
        names = {f"m{number}" for number in range(3 + exercise.newcomers(settings))}
        assert all(step.act in ACTS and (step.who in names or step.act == "move") for step in exercise.steps(settings))


def test_a_rolling_restart_takes_one_member_after_the_other() -> None:
    steps = EXERCISES["rolling-restart-static"].steps(small())

    assert [step.who for step in steps] == ["m0", "m1", "m2"]
    assert all(before.at_ms + before.for_ms < step.at_ms for before, step in itertools.pairwise(steps))


def test_a_restart_that_is_not_as_the_settings_have_it_says_so() -> None:
    dynamic, static = small(), small(group_instance_id="a")

    assert [EXERCISES[f"rolling-restart-{kind}"].is_as_set(dynamic) for kind in ("dynamic", "static")] == [True, False]
    assert [EXERCISES[f"rolling-restart-{kind}"].is_as_set(static) for kind in ("dynamic", "static")] == [False, True]
    assert EXERCISES["rolling-restart-static"].applied(dynamic).is_static
    assert not EXERCISES["rolling-restart-dynamic"].applied(static).is_static
