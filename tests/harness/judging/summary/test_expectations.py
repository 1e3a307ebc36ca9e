from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from tests.harness.judging.judged import case, finding, says

from groupproof.harness.judging.case_judgement import judge_run
from groupproof.harness.judging.ruling import rule_on
from groupproof.harness.judging.summary.expectations import CaseVerdict, KnownFailure, load, settle, verdict_of, without_races
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import Finding, Proof, Verdict, fingerprint

TODAY = date(2026, 11, 21)
ENTRY = """
[[known]]
case = "join/classic/unknown-member-id"
subject = ">=2.0,<3.0"
verdict = "FAILED"
fingerprint = "abc"
reason = "drops its id on 27"
url = "https://example.org/1"
"""


def failures_in(tmp_path: Path, text: str = ENTRY) -> tuple[KnownFailure, ...]:
    path = tmp_path / "known.toml"
    path.write_text(text)
    return load(path).failures


def failed(case: str = "join/classic/unknown-member-id", print: str = "abc", verdict: Verdict = Verdict.FAILED) -> CaseVerdict:
    return CaseVerdict(case=case, verdict=verdict, fingerprint=print)


def _parts(*prints: str) -> dict[str, Finding]:
    return {print: finding(Verdict.FAILED, print) for print in prints}


def test_a_known_failure_that_fails_in_the_same_way_is_excused(tmp_path: Path) -> None:
    settled = settle(failures_in(tmp_path), [failed()], TODAY)

    assert settled.excused["join/classic/unknown-member-id"].reason == "drops its id on 27"
    assert settled.stale == ()


@pytest.mark.parametrize("way", ["abc", "def"])
def test_a_subject_that_draws_lots_may_fail_in_each_way_that_is_named(tmp_path: Path, way: str) -> None:
    entries = failures_in(tmp_path, ENTRY.replace('"abc"', '["abc", "def"]'))

    assert settle(entries, [failed(print=way)], TODAY).stale == ()
    assert settle(entries, [failed(print="ghi")], TODAY).stale != ()


@pytest.mark.parametrize(("parts", "expected"), [({"abc", "def"}, True), ({"def"}, True), ({"abc", "new"}, False), (set(), False)])
def test_findings_that_are_all_named_are_excused_in_any_combination(tmp_path: Path, parts: set[str], expected: bool) -> None:
    entries = failures_in(tmp_path, ENTRY.replace('"abc"', '["abc", "def"]'))
    observed = CaseVerdict(case="join/classic/unknown-member-id", verdict=Verdict.FAILED, fingerprint="of all", parts=_parts(*parts))

    assert bool(settle(entries, [observed], TODAY).excused) is expected


def test_a_failure_that_is_named_as_a_whole_excuses_no_part_of_it(tmp_path: Path) -> None:
    observed = CaseVerdict(case="join/classic/unknown-member-id", verdict=Verdict.FAILED, fingerprint="of all", parts=_parts("abc"))

    assert settle(failures_in(tmp_path), [observed], TODAY).excused == {}


@pytest.mark.parametrize(
    ("verdict", "print", "is_excused", "is_stale"),
    [
        (Verdict.FAILED, "abc", True, False),
        (Verdict.OK, "", False, False),
        (Verdict.NON_STRICT, "def", False, False),
        (Verdict.FAILED, "def", False, True),
    ],
)
def test_a_failure_by_chance_may_stay_away_but_not_change(tmp_path: Path, verdict: Verdict, print: str, is_excused: bool, is_stale: bool) -> None:
    settled = settle(failures_in(tmp_path, ENTRY + "by_chance = true\n"), [failed(verdict=verdict, print=print)], TODAY)

    assert (bool(settled.excused), bool(settled.stale)) == (is_excused, is_stale)


def test_what_is_worse_than_a_failure_by_chance_is_stale(tmp_path: Path) -> None:
    entries = failures_in(tmp_path, ENTRY.replace('"FAILED"', '"NON_STRICT"') + "by_chance = true\n")

    assert settle(entries, [failed()], TODAY).stale


def test_the_parts_of_a_verdict_are_its_findings_each_by_itself() -> None:
    one, other, less = finding(Verdict.FAILED, "one"), finding(Verdict.FAILED, "other"), finding(Verdict.NON_STRICT, "less")

    def of(*findings: Finding) -> CaseVerdict:
        return verdict_of("join/classic/x", rule_on(case(), [judge_run(case(says(*findings)), [], ())]))

    assert set(of(one, other, less).parts) == {of(one).fingerprint, of(other).fingerprint}
    assert set(of(less).parts) == {of(less).fingerprint}


OTHER = "join/classic/other"
RACE = ENTRY.replace("join/classic/unknown-member-id", "*/classic/*").replace('"abc"', '["race"]') + "by_chance = true\n"


def wrong(*prints: str, case: str = "join/classic/unknown-member-id") -> CaseVerdict:
    """Return a case whose findings have these fingerprints; as a whole it has the one of the only one, or of all."""
    parts = _parts(*prints)
    return CaseVerdict(case=case, verdict=Verdict.FAILED, fingerprint=prints[0] if len(prints) == 1 else fingerprint(parts.values()), parts=parts)


@pytest.mark.parametrize(
    ("pattern", "is_race"), [("*/classic/*", True), ("join", True), ("join/classic", True), ("join/classic/other", False), ("join/classic/o*", True)]
)
def test_a_race_is_known_of_a_class_of_cases(tmp_path: Path, pattern: str, is_race: bool) -> None:
    (entry,) = failures_in(tmp_path, RACE.replace("*/classic/*", pattern))

    assert entry.is_race is is_race
    assert not replace(entry, by_chance=False).is_race


def test_a_race_may_come_in_any_case_of_its_class_and_stay_away_in_any(tmp_path: Path) -> None:
    settled = settle(failures_in(tmp_path, RACE), [wrong("race"), failed(OTHER, verdict=Verdict.OK), wrong("race", case="join/consumer/x")], TODAY)

    assert (list(settled.excused), settled.stale) == (["join/classic/unknown-member-id"], ())


def test_what_fails_in_another_way_is_no_matter_of_the_race(tmp_path: Path) -> None:
    settled = settle(failures_in(tmp_path, RACE), [wrong("new"), wrong("race", "new", case=OTHER)], TODAY)

    assert (settled.excused, settled.stale) == ({}, ())


def test_a_case_in_which_the_race_came_to_a_known_failure_is_excused_by_that(tmp_path: Path) -> None:
    both = wrong("race", "abc")
    alone = fingerprint(_parts("abc").values())
    settled = settle(failures_in(tmp_path, RACE + ENTRY.replace('"abc"', f'"{alone}"')), [both], TODAY)

    assert settled.excused["join/classic/unknown-member-id"].fingerprint == alone
    assert settled.stale == ()


@pytest.mark.parametrize("verdict", ["FAILED", "NON_STRICT"])
def test_a_case_that_the_race_ended_says_nothing_of_its_known_failure(tmp_path: Path, verdict: str) -> None:
    settled = settle(failures_in(tmp_path, ENTRY.replace("FAILED", verdict) + RACE), [wrong("race")], TODAY)

    assert settled.excused["join/classic/unknown-member-id"].is_race
    assert settled.stale == ()


def test_two_races_in_one_case_are_both_known(tmp_path: Path) -> None:
    settled = settle(
        failures_in(tmp_path, RACE + RACE.replace('"race"', '"other"')), [wrong("race", "other"), wrong("race", "new", case=OTHER)], TODAY
    )

    assert list(settled.excused) == ["join/classic/unknown-member-id"]


def test_a_race_of_another_verdict_or_one_that_is_over_excuses_nothing(tmp_path: Path) -> None:
    assert settle(failures_in(tmp_path, RACE.replace("FAILED", "NON_STRICT")), [wrong("race")], TODAY).excused == {}
    over = settle(failures_in(tmp_path, RACE + "expires = 2026-11-20\n"), [wrong("race")], TODAY)
    assert (over.excused, len(over.stale)) == ({}, 1)


def unstable(*findings: Finding) -> CaseVerdict:
    """Return a case of which one run in three shows these findings."""
    runs = [judge_run(case(says(*run)), [], ()) for run in (findings, [finding(Verdict.OK)], [finding(Verdict.OK)])]
    return verdict_of("join/classic/unknown-member-id", rule_on(case(), runs))


SILENT = finding(Verdict.FAILED, "nothing came", proof=Proof.LIVENESS)
LATE = finding(Verdict.NON_STRICT, "it came late", proof=Proof.TIMING)


@pytest.mark.parametrize("pattern", ["*/classic/*", "join/classic/unknown-member-id"])
@pytest.mark.parametrize(
    ("findings", "verdict", "is_excused"),
    [((SILENT,), "FAILED", True), ((SILENT,), "NON_STRICT", False), ((LATE,), "FAILED", False), ((SILENT, LATE), "FAILED", False)],
)
def test_what_only_some_runs_show_is_excused_where_it_is_known_to_come_by_chance(
    tmp_path: Path, pattern: str, findings: tuple[Finding, ...], verdict: str, is_excused: bool
) -> None:
    text = RACE.replace("*/classic/*", pattern).replace("race", fingerprint([SILENT])).replace("FAILED", verdict)
    settled = settle(failures_in(tmp_path, text), [unstable(*findings)], TODAY)

    assert (bool(settled.excused), settled.stale) == (is_excused, ())


def test_what_only_some_runs_show_is_not_excused_as_a_failure_that_comes_in_all(tmp_path: Path) -> None:
    always = RACE.replace("race", fingerprint([SILENT])).replace("by_chance = true", "").replace("*/classic/*", "join/classic/unknown-member-id")
    settled = settle(failures_in(tmp_path, always), [unstable(SILENT)], TODAY)

    assert (settled.excused, settled.stale) == ({}, ())


def test_two_races_that_only_some_runs_show_are_both_known(tmp_path: Path) -> None:
    silent, late = RACE.replace("race", fingerprint([SILENT])), RACE.replace("race", fingerprint([LATE])).replace("FAILED", "NON_STRICT")

    assert settle(failures_in(tmp_path, silent + late), [unstable(SILENT, LATE)], TODAY).excused
    assert settle(failures_in(tmp_path, late), [unstable(SILENT, LATE)], TODAY).excused == {}


def test_a_case_without_a_verdict_for_another_reason_is_never_excused_by_chance(tmp_path: Path) -> None:
    lagged = replace(judge_run(case(says(SILENT)), [], ()), verdict=Verdict.INCONCLUSIVE, reason="the kit lagged")
    observed = verdict_of("join/classic/unknown-member-id", rule_on(case(), [lagged]))

    assert settle(failures_in(tmp_path, RACE.replace("race", fingerprint([SILENT]))), [observed], TODAY).excused == {}


def test_what_a_race_leaves_of_a_verdict_is_what_other_entries_are_held_against(tmp_path: Path) -> None:
    races = failures_in(tmp_path, RACE)
    both, alone = wrong("race", "new"), fingerprint(_parts("new").values())
    left = without_races(races, both, TODAY)

    assert left is not None
    assert (left.fingerprint, set(left.parts)) == (alone, {"new"})
    assert without_races(races, wrong("race"), TODAY) is None
    assert without_races(races, wrong("new"), TODAY) == wrong("new")


def test_an_entry_of_several_cases_is_one_known_failure_for_each_with_its_own_fingerprint(tmp_path: Path) -> None:
    table = 'cases = {"join/classic/a" = "abc", "join/classic/b" = ["def", "ghi"]}'
    first, second = failures_in(tmp_path, ENTRY.replace('case = "join/classic/unknown-member-id"', table).replace('fingerprint = "abc"\n', ""))

    assert (first.case, first.fingerprint, second.case, second.others) == ("join/classic/a", "abc", "join/classic/b", ("ghi",))
    assert (first.reason, first.where) == (second.reason, second.where)
    observed = [failed("join/classic/a"), failed("join/classic/b", print="abc")]
    assert list(settle((first, second), observed, TODAY).excused) == ["join/classic/a"], "the other fails in another way"


def test_an_entry_has_either_a_case_or_cases(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="known/0"):
        failures_in(tmp_path, ENTRY + 'cases = {"join/classic/a" = "abc"}\n')


@pytest.mark.parametrize(
    ("observed", "why"),
    [
        (failed(verdict=Verdict.OK, print=""), "is OK, not FAILED any more"),
        (failed(verdict=Verdict.NON_STRICT), "is NON_STRICT, not FAILED any more"),
        (failed(print="def"), "in another way: fingerprint def, not abc"),
    ],
)
def test_one_that_passes_or_fails_differently_is_stale(tmp_path: Path, observed: CaseVerdict, why: str) -> None:
    settled = settle(failures_in(tmp_path), [observed], TODAY)

    assert settled.excused == {}
    assert why in settled.stale[0]


def test_one_that_has_expired_is_stale_and_excuses_nothing_more(tmp_path: Path) -> None:
    entries = failures_in(tmp_path, ENTRY + "expires = 2026-11-20\n")

    assert settle(entries, [failed()], TODAY).excused == {}
    assert "expired on 2026-11-20" in settle(entries, [failed()], TODAY).stale[0]
    assert settle(entries, [failed()], date(2026, 11, 20)).stale == ()


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.BROKEN])
def test_a_case_without_a_verdict_makes_no_entry_stale(tmp_path: Path, verdict: Verdict) -> None:
    settled = settle(failures_in(tmp_path), [failed(verdict=verdict)], TODAY)

    assert (settled.excused, settled.stale) == ({}, ())


def test_an_entry_whose_case_was_not_selected_is_not_stale(tmp_path: Path) -> None:
    assert settle(failures_in(tmp_path), [failed("sync/classic/other", verdict=Verdict.OK)], TODAY).stale == ()


def wide(tmp_path: Path) -> tuple[KnownFailure, ...]:
    return failures_in(tmp_path, ENTRY.replace("join/classic/unknown-member-id", "join/*"))


def test_an_entry_over_several_cases_stands_while_each_of_them_fails_as_it_says(tmp_path: Path) -> None:
    settled = settle(wide(tmp_path), [failed("join/classic/a"), failed("join/classic/b"), failed("sync/classic/a", verdict=Verdict.OK)], TODAY)

    assert (list(settled.excused), settled.stale) == (["join/classic/a", "join/classic/b"], ())


def test_one_case_that_does_not_makes_it_stale_and_it_excuses_nothing(tmp_path: Path) -> None:
    others = [failed("join/classic/b", verdict=Verdict.OK), failed("join/classic/c", print="def")]
    settled = settle(wide(tmp_path), [failed("join/classic/a"), *others], TODAY)

    assert settled.excused == {}
    assert settled.stale == (
        "known.toml, entry 1 (join/*): join/classic/c is FAILED in another way: fingerprint def, not abc; join/classic/b is OK, not FAILED any more",
    )


def test_of_many_cases_that_do_not_some_are_named(tmp_path: Path) -> None:
    passing = [failed(f"join/classic/{number}", verdict=Verdict.OK) for number in range(9)]

    (stale,) = settle(wide(tmp_path), passing, TODAY).stale
    assert stale.endswith("join/classic/4 is OK, not FAILED any more; and 4 more")


def test_two_stars_excuse_no_client_that_never_becomes_a_member(tmp_path: Path) -> None:
    everything = failures_in(tmp_path, ENTRY.replace("join/classic/unknown-member-id", "*"))
    run = [failed("join/classic/a"), failed("join/classic/b", print="def"), failed("sync/classic/a", verdict=Verdict.INCONCLUSIVE)]

    assert settle(everything, run, TODAY).excused == {}


@pytest.mark.parametrize("verdict", ["UNIMPLEMENTED", "INCONCLUSIVE", "BROKEN"])
def test_what_came_to_no_verdict_cannot_be_excused(tmp_path: Path, verdict: str) -> None:
    with pytest.raises(WrongUsage, match=rf"known.toml, entry 1 \(join/classic/unknown-member-id\): {verdict} can't be excused"):
        failures_in(tmp_path, ENTRY.replace("FAILED", verdict))


@pytest.mark.parametrize(
    ("pattern", "covered"),
    [("join/classic", True), ("join", True), ("join/classic/unknown", False), ("*/unknown-member-id", True), ("sync", False)],
)
def test_an_entry_names_an_id_a_prefix_of_whole_parts_or_a_glob(tmp_path: Path, pattern: str, covered: bool) -> None:
    (entry,) = failures_in(tmp_path, ENTRY.replace("join/classic/unknown-member-id", pattern))

    assert entry.covers("join/classic/unknown-member-id") is covered


@pytest.mark.parametrize(
    ("release", "profile", "about"),
    [("2.9.9", "kafka-4.1", True), ("3.0.0", "kafka-4.1", False), ("2.0.0rc1", "kafka-4.1", False), ("not-a-release", "kafka-4.1", False)],
)
def test_an_entry_is_about_some_releases(tmp_path: Path, release: str, profile: str, about: bool) -> None:
    (entry,) = failures_in(tmp_path)

    assert entry.is_about(release, profile) is about


@pytest.mark.parametrize(
    ("release", "about"), [("v0.0.0-20260918054303-01f206a7e32c", True), ("v0.0.0-20260918054303-000000000000", False), ("1.0", False)]
)
def test_an_entry_can_be_about_one_release_of_an_unusual_form(tmp_path: Path, release: str, about: bool) -> None:
    (entry,) = failures_in(tmp_path, ENTRY.replace(">=2.0,<3.0", "===v0.0.0-20260918054303-01f206a7e32c"))

    assert entry.is_about(release, "kafka-4.1") is about


def test_an_entry_can_be_about_some_profiles_and_about_any_release(tmp_path: Path) -> None:
    (entry,) = failures_in(tmp_path, ENTRY.replace(">=2.0,<3.0", "") + 'profile = "kafka-4.*"\n')

    assert entry.is_about("not-a-release", "kafka-4.1")
    assert not entry.is_about("1.0", "kafka-1.1")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[known]", "is no TOML"),
        ("known = 3", "known.toml: expectations: at known"),
        (ENTRY.replace('reason = "drops its id on 27"', ""), "'reason' is a required property"),
        (ENTRY.replace('url = "https://example.org/1"', ""), "at known/0"),
        (ENTRY.replace("FAILED", "OK"), "'OK' is not one of"),
        (ENTRY.replace(">=2.0,<3.0", "two"), "write releases such as"),
        (ENTRY + "colour = 3\n", "'colour' was unexpected"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(WrongUsage, match=why):
        failures_in(tmp_path, text)


def test_a_file_that_is_not_there_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(WrongUsage, match="No such file"):
        load(tmp_path / "none.toml")
