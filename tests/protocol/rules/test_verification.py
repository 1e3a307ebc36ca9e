"""A profile is verified by a comparison with a real broker, and by nothing else."""

from __future__ import annotations

import pytest

from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.rules.verification import Verification, evidence_text, verification, verifications

ENTRY = '["kafka-4.1"]\nrelease = "4.1.0"\ndate = 2026-11-21\nsteps = 5000\ndivergences = 0\n'


def test_what_is_shipped_is_sound() -> None:
    assert verifications().keys() <= RELEASES.keys()
    assert {verification(name) for name in RELEASES} - {None} == set(verifications().values())


def test_an_entry_tells_broker_day_and_steps() -> None:
    entry = Verification(profile="kafka-4.1", release="4.1.0", date="2026-11-21", steps=5_000, divergences=0)

    assert verifications(ENTRY) == {"kafka-4.1": entry}


@pytest.mark.parametrize(("was", "becomes", "complaint"), [
    ("kafka-4.1", "kafka-9", "names 'kafka-9'; there are kafka-1.1"),
    ('"4.1.0"', '"4.0.0"', "verified with 4.0.0, which is no 4.1"),
    ("5000", "0", "over 0 steps"),
])  # fmt: skip
def test_an_entry_without_sense_is_refused(was: str, becomes: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        verifications(ENTRY.replace(was, becomes))


def test_a_profile_says_what_it_rests_on() -> None:
    by_name = {name: (verification(name), evidence_text(name)) for name in RELEASES}

    for found, text in by_name.values():
        assert text.startswith(
            "Read in the release's sources" if found is None else f"Verified: compared with Apache Kafka {found.release} over {found.steps} "
        )
