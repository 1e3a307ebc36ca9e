from __future__ import annotations

from collections import Counter

from tests.harness.running.fuzzing.drawn import Dice

from groupproof.harness.running.fuzzing.choice_source import weighted_choice


def test_an_option_is_as_likely_as_its_weight_says() -> None:
    dice = Dice(1)
    drawn = Counter(weighted_choice(dice, {"often": 3, "seldom": 1, "never": 0}) for _ in range(4_000))

    assert drawn["never"] == 0
    assert 2.6 < drawn["often"] / drawn["seldom"] < 3.4
