"""Each sentence of a verdict is true by itself: what is said of a planted bug, or of a legal variant, is what was read and found true of it.

`sentences.toml` has, for each, the sentences that blame it. A new one fails here until somebody has held it against what was planted and against the
frames. `python -m tests.power.sentences` prints the table anew, over all pairs and all cases.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.harness.running.virtual import judged, rhythm
from tests.power.sentences import blame_of, pairs_of
from tests.power.shares import is_drawn
from tests.power.test_power import BY_ID, SHARE, judgement_on

from groupproof.clients.planted.variants import LEGAL, MISBEHAVIOURS, VARIANTS
from groupproof.harness.cases.client import CASES

TABLE = tomllib.loads((Path(__file__).parent / "sentences.toml").read_text())
BUGS: dict[str, list[str]] = TABLE["bugs"]
ALLOWED: dict[str, list[str]] = TABLE["legal"]


def test_every_planted_bug_has_its_sentences_and_no_other_variant_has() -> None:
    assert BUGS.keys() <= {misbehaviour.name for misbehaviour in MISBEHAVIOURS}
    assert ALLOWED.keys() <= {variant.name for variant in LEGAL}
    assert {name for name, sentences in BUGS.items() if not sentences} == set()


@pytest.mark.parametrize("misbehaviour", BUGS)
def test_what_is_said_of_a_planted_bug_is_what_was_planted(misbehaviour: str) -> None:
    said = {sentence for case in pairs_of(misbehaviour) for sentence in blame_of(judgement_on(misbehaviour, case))}

    assert said - set(BUGS[misbehaviour]) == set(), VARIANTS[misbehaviour].says


@pytest.mark.parametrize("variant", [variant.name for variant in LEGAL])
def test_what_is_said_of_a_legal_client_is_true_of_it(variant: str) -> None:
    lacks = VARIANTS[variant].policy.lacks
    drawn = [case for case in CASES if is_drawn(f"{variant} {case.id}", SHARE) and not case.needs & lacks]
    said = {sentence for case in drawn for sentence in blame_of(judged(BY_ID[case.id], variant=variant, known=rhythm(variant))[1])}

    assert said - set(ALLOWED.get(variant, [])) == set(), VARIANTS[variant].says
