from __future__ import annotations

from dataclasses import replace

from tests.harness.reports.making import a_case, a_result, known_failure, summary_of

from groupproof.harness.judging.summary.baseline import Change, Delta
from groupproof.harness.judging.summary.shards import Share
from groupproof.harness.model.verdicts import Goodbye, Verdict
from groupproof.harness.reports.markdown_summary import CHARS_MAX, plain, summary
from groupproof.protocol.rules.verification import evidence_text

FAILED = a_case("join/classic/failed")


def test_a_summary_tells_grade_totals_failures_and_how_to_replay_them() -> None:
    run = summary_of(a_result(), a_result(Verdict.FAILED, FAILED, observed="It left | quit."))

    assert summary(run, "out") == (
        "### ❌ example 1.2: FAILED\n"
        "\n"
        "At least one case breaks a MUST. 2 cases against kafka-4.1, in 12 s, seed 7.\n"
        "\n"
        "| OK | FAILED |\n"
        "| ---: | ---: |\n"
        "| 1 | 1 |\n"
        "\n"
        "#### FAILED\n"
        "\n"
        "| case | expected | observed |\n"
        "| --- | --- | --- |\n"
        "| `join/classic/failed` HB-03 | It joins. | It left \\| quit. (seen in 1 of 1 run · 0 receipts · the kit did not lag) |\n"
        "\n"
        "<details><summary>replay</summary>\n"
        "\n"
        "```\n"
        "groupproof replay out/cases/join/classic/failed/plan.json\n"
        "```\n"
        "</details>\n"
        "\n"
        f"<sub>kafka-4.1: {evidence_text('kafka-4.1')}</sub><br>\n"
        "<sub>groupproof 0.1.0 · catalogue `abababababab` · every verdict can be computed again from its trace</sub>\n"
    )


def test_an_interrupted_run_says_how_far_it_came() -> None:
    text = summary(summary_of(a_result(), selected=[a_case(), FAILED], interrupted=True), "out")

    assert "**Interrupted:** 1 of 2 cases were reached." in text


def test_required_cases_without_a_verdict_are_reported_by_their_reason() -> None:
    run = summary_of(a_result(), a_result(Verdict.UNIMPLEMENTED, FAILED, observed="Its shim declares no pause."))

    assert f"- 1 case is UNIMPLEMENTED (Its shim declares no pause): {FAILED.id}\n" in summary(replace(run, unjudged=(FAILED.id,)), "out")
    assert "Its shim declares no pause" not in summary(run, "out")


def test_excuses_stale_expectations_and_clean_closes_are_reported() -> None:
    results = [a_result(Verdict.FAILED, FAILED), a_result(goodbye=Goodbye.UNCLEAN)]

    text = summary(summary_of(*results, excused={FAILED.id: known_failure(FAILED.id)}, stale=["known.toml, entry 1: passes"]), "out")

    assert "Known: drops its id on 27 (https://example.org/1)" in text
    assert "- known.toml, entry 1: passes" in text
    assert "| OK | EXCUSED | goodbye UNCLEAN |" in text


def test_a_crash_beside_other_cases_is_reported_though_its_case_passed() -> None:
    run = summary_of(a_result(shared_ends=("exited with status 1: panic <7>",)))

    text = summary(run, "out")
    assert "**Crashes beside other cases**" in text
    assert f"- {plain(run.shared_ends[0])}" in text


def test_what_a_client_says_is_no_markup() -> None:
    text = summary(summary_of(a_result(Verdict.FAILED, FAILED, observed="<img src=x> @someone `x` **b**\n| row |")), "out")

    assert "\\<img src=x\\> \\@someone \\`x\\` \\*\\*b\\*\\* \\| row \\|" in text


def test_a_summary_fits_into_a_comment() -> None:
    results = [a_result(Verdict.FAILED, a_case(f"join/classic/n{number}"), observed=f"wrong {number} " * 300) for number in range(200)]

    text = summary(summary_of(*results), "out")

    assert len(text) <= CHARS_MAX + 100
    assert "… (cut; the whole of it is in report.html)" in text


def test_long_lists_are_cut_and_say_by_how_much() -> None:
    results = [a_result(Verdict.FAILED, a_case(f"join/classic/n{number}"), observed=f"It fell {number} times.") for number in range(60)]

    text = summary(summary_of(*results), "out")

    assert "| … and 10 more | | |" in text
    assert text.count("groupproof replay") == 50


def test_cases_of_one_cause_stand_in_one_row() -> None:
    results = [a_result(verdict, a_case(f"join/classic/n{number}"), fingerprint="ab") for number in range(20) for verdict in [Verdict.FAILED]]
    results += [a_result(Verdict.INCONCLUSIVE, a_case(f"sync/classic/n{number}"), observed="It was late.") for number in range(2)]

    text = summary(summary_of(*results), "out")

    assert "| `join/classic/n0` HB-03 and 19 more: `join/classic/n1`, " in text
    assert "`join/classic/n8`, … | It joins. |" in text
    assert "| `sync/classic/n0` HB-03 and 1 more: `sync/classic/n1` |" in text
    assert text.count("groupproof replay") == 1


def test_the_difference_to_a_baseline_stands_above_what_was_found() -> None:
    delta = Delta(
        name="old.json", moved=(Change(id="join/classic/failed", before="OK", now="FAILED", observed="It <left>."),), unlike=("profile a, not b",)
    )

    text = summary(replace(summary_of(a_result(Verdict.FAILED, FAILED)), delta=delta), "out")

    assert "**Against old.json:** worse: 1 moved." in text
    assert "- old.json is a run of profile a, not b" in text
    assert "| `join/classic/failed` | OK | FAILED | It \\<left\\>. |" in text
    assert text.index("#### moved") < text.index("#### FAILED")


def test_a_shard_is_reported_as_one() -> None:
    text = summary(summary_of(a_result(), shard=Share(number=2, of=4)), "out")

    assert text.startswith("### 🧩 example 1.2: ")
    assert "(shard 2/4)" in text
    assert "One of 4 shards, 1 cases; the grade is that of all of them together." in text
