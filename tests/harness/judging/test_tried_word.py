from __future__ import annotations

from dataclasses import replace

import pytest
from tests.traces import Story

from groupproof.harness.judging.ruling import Judgement
from groupproof.harness.judging.tried_word import refuted_words, tried_words, with_trial, without_refuted, words_of
from groupproof.harness.model.verdicts import Finding, Grounds, Proof, Verdict
from groupproof.harness.running.shim_check.word_trial import EXERCISE_OF
from groupproof.protocol.trace import Trace

UNREVOKED = Finding(
    verdict=Verdict.FAILED, requirement="CLIENT-40", expected="", observed="Nothing was revoked.", grounds=Grounds(word="partitions_revoked")
)
FRAMES = Finding(verdict=Verdict.NON_STRICT, requirement="HB-03", expected="", observed="It came twice.", grounds=Grounds())
ABSENT = replace(FRAMES, proof=Proof.LIVENESS, observed="It never came.")
FINE = Finding(verdict=Verdict.OK, requirement="HB-03", expected="", observed="It did.")
REFUTED = {"partitions_revoked": "no partitions_revoked came"}


def judgement(*findings: Finding) -> Judgement:
    return Judgement(verdict=Verdict.FAILED, findings=findings)


def tried(refuted: dict[str, str], *words: str) -> Trace:
    story = Story()
    story.beat()
    return with_trial(story.trace, words or list(refuted), refuted)


def test_a_trial_is_the_last_observation_and_can_be_read_from_the_trace() -> None:
    trace = tried(REFUTED, "resume", "partitions_revoked")

    assert [obs.seq for obs in trace] == list(range(len(trace)))
    assert (trace[-1].who, trace[-1].at_ns, trace[-1].run) == ("kit", trace[-2].at_ns, trace[-2].run)
    assert tried_words(trace) == {"resume", "partitions_revoked"}
    assert refuted_words(trace) == REFUTED
    assert refuted_words(trace[:-1]) == {}


def test_the_words_of_a_judgement_are_those_of_what_blames_the_client() -> None:
    assert words_of(judgement(UNREVOKED, FRAMES, FINE)) == {"partitions_revoked"}
    assert words_of(judgement(FRAMES, FINE)) == frozenset()
    assert words_of(replace(judgement(UNREVOKED), verdict=Verdict.INCONCLUSIVE)) == frozenset()


def test_what_rests_only_on_a_refuted_report_is_broken_and_both_causes_are_reported() -> None:
    broken = without_refuted(judgement(UNREVOKED, ABSENT, FINE), tried(REFUTED))

    assert broken.verdict is Verdict.BROKEN
    assert broken.findings == (FINE,)
    assert broken.reason == (
        "Nothing was revoked. The frames and the shim's word for partitions_revoked disagree, and they do where that is tried alone: "
        "no partitions_revoked came. Either the shim does not print partitions_revoked, or the client does not call its application; "
        "no frame tells which. Mend what is wrong, and try it with groupproof shim check."
    )


def test_what_frames_prove_stays_proven() -> None:
    kept = without_refuted(judgement(UNREVOKED, FRAMES, FINE), tried(REFUTED))

    assert (kept.verdict, kept.findings) == (Verdict.NON_STRICT, (FRAMES, FINE))


@pytest.mark.parametrize("trace", [[], tried({}, "partitions_revoked"), tried({"resume": "it did not go on"})], ids=["untried", "held", "another"])
def test_without_a_refuted_word_the_judgement_stands(trace: Trace) -> None:
    assert without_refuted(judgement(UNREVOKED), trace) == judgement(UNREVOKED)


@pytest.mark.parametrize("word", EXERCISE_OF)
def test_each_word_that_is_tried_has_its_two_causes(word: str) -> None:
    blame = replace(UNREVOKED, grounds=Grounds(word=word))

    assert "Either the shim " in without_refuted(judgement(blame), tried({word: "it did not hold"})).reason
