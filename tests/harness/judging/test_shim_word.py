from __future__ import annotations

from dataclasses import replace

from tests.traces import Story

from groupproof.harness.judging.shim_word import word_of
from groupproof.harness.model.verdicts import Finding, Verdict, Wait

SILENCE = Finding(verdict=Verdict.FAILED, requirement="CLIENT-52", expected="", observed="It never came.")


def test_a_finding_that_shows_a_line_rests_on_the_line() -> None:
    story = Story()
    beat, line = story.beat(), story.committed(("t", 0, 5))

    assert word_of(replace(SILENCE, seq=line.seq), story.trace) == "offsets_committed"
    assert word_of(replace(SILENCE, seq=beat.seq), story.trace) == ""
    assert word_of(SILENCE, story.trace) == ""


def test_a_finding_that_shows_an_answer_rests_on_the_command_that_was_answered() -> None:
    story = Story()
    for command in ("subscribe", "commit"):
        story.kit("command", "m0", command=command, fields={})
    story.kit("command", "m1", command="close", fields={})
    answer = story.tell("answer", ok=True)

    assert word_of(replace(SILENCE, seq=answer.seq), story.trace) == "commit"


def test_a_finding_may_name_the_line_that_did_not_come() -> None:
    assert word_of(replace(SILENCE, line="partitions_revoked"), []) == "partitions_revoked"


def test_a_finding_may_name_the_setting_that_the_client_perhaps_never_got() -> None:
    assert word_of(replace(SILENCE, setting="auto_commit"), []) == "auto_commit"


def waiting(command: str | None, *, is_marked: bool = True) -> str:
    """Tell of a wait behind a mark, or none, and a command."""
    story = Story()
    if is_marked:
        story.mark("again")
    since = story.beat()
    if command is not None:
        story.kit("command", "m0", command=command, fields={})
    story.end()
    story.kit("command", "m0", command="close", fields={})
    return word_of(replace(SILENCE, wait=Wait(since=since.seq, ms=9_000, due_ms=6_000)), story.trace)


def test_what_never_came_after_a_command_rests_on_the_shims_word_for_it() -> None:
    assert waiting("resume") == "resume"
    assert waiting("unsubscribe") == "unsubscribe"


def test_what_never_came_after_a_command_with_frames_of_its_own_or_after_none_does_not() -> None:
    assert waiting("commit") == ""
    assert waiting(None) == ""
    assert waiting("resume", is_marked=False) == ""
