from __future__ import annotations

from pathlib import Path

import pytest
from tests.harness.reports.report_of import report

from groupproof.harness.judging.summary.expectations import load
from groupproof.harness.judging.summary.expectations_file import KnownReason, update, write
from groupproof.harness.model.errors import BrokenEnvironment, WrongUsage

KNOWN = """# What we know of odd.

[[known]]
case = "leave/classic/close"
subject = ">=1.0,<2"
verdict = "FAILED"
fingerprint = "aaaaaaaaaaaa" # of the first run
reason = "never says goodbye"
url = "https://example.org/1"

# About another release.
[[known]]
case = "leave/classic/close"
subject = "<1.0"
verdict = "FAILED"
fingerprint = "cccccccccccc"
reason = "crashed"
url = "https://example.org/2"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "known.toml"
    path.write_text(KNOWN)
    return path


def test_an_entry_that_still_holds_stays_letter_by_letter(file: Path) -> None:
    done = update(file, report({"leave/classic/close": ("EXCUSED", "aaaaaaaaaaaa")}), KnownReason())

    assert (done.text, done.changes) == (KNOWN, ())


def test_a_failure_of_another_kind_gets_its_fingerprint_and_a_warning(file: Path) -> None:
    done = update(file, report({"leave/classic/close": ("FAILED", "bbbbbbbbbbbb")}), KnownReason())

    assert done.text == KNOWN.replace('"aaaaaaaaaaaa" #', '"bbbbbbbbbbbb" #')
    assert done.changes == ("changed leave/classic/close: it fails in another way; see that its reason still holds: It did something.",)


def test_an_entry_that_passes_is_removed_and_those_of_other_releases_stay(file: Path) -> None:
    done = update(file, report({"leave/classic/close": ("OK", None)}), KnownReason())

    assert done.changes == ("took out leave/classic/close: it is OK in odd 1.2",)
    assert "never says goodbye" not in done.text
    assert done.text.startswith("# What we know of odd.\n\n# About another release.\n[[known]]\n")
    assert 'subject = "<1.0"' in done.text


@pytest.mark.parametrize("verdict", ["OK", "FAILED", "EXCUSED"])
def test_an_entry_by_chance_stays_whatever_a_run_showed(verdict: str, file: Path) -> None:
    text = KNOWN.replace('"leave/classic/close"\nsubject = ">=1.0,<2"', '"leave/classic/*"\nsubject = ">=1.0,<2"\nby_chance = true')
    file.write_text(text)

    done = update(file, report({"leave/classic/close": (verdict, "aaaaaaaaaaaa")}), KnownReason())

    assert (done.text, done.changes) == (text, ())


def test_an_entry_over_several_cases_is_narrowed_to_those_that_fail_as_it_says(file: Path) -> None:
    file.write_text(KNOWN.replace("leave/classic/close", "leave/*", 1))
    run = {
        "leave/classic/a": ("FAILED", "aaaaaaaaaaaa"),
        "leave/classic/b": ("OK", None),
        "leave/classic/c": ("FAILED", "aaaaaaaaaaaa"),
        "leave/classic/d": ("INCONCLUSIVE", "dddddddddddd"),
    }

    done = update(file, report(run), KnownReason())
    write(file, done.text)

    assert done.changes == ("narrowed leave/* to leave/classic/a, leave/classic/c: others that it covers pass",)
    assert [(entry.case, entry.reason) for entry in load(file).failures[:2]] == [(f"leave/classic/{name}", "never says goodbye") for name in "ac"]
    assert update(file, report(run), KnownReason()).changes == ()


def test_an_entry_over_several_cases_that_all_fail_stays(file: Path) -> None:
    file.write_text(KNOWN.replace("leave/classic/close", "leave/*", 1))
    run = {"leave/classic/a": ("FAILED", "aaaaaaaaaaaa"), "leave/classic/b": ("EXCUSED", "aaaaaaaaaaaa")}

    assert update(file, report(run), KnownReason()).changes == ()


SHARED = """[[known]]
subject = ">=1.0,<2"
verdict = "FAILED"
reason = "its disk is full"
url = "https://example.org/3"

[known.cases]
"leave/classic/close" = "aaaaaaaaaaaa" # of the first run
"join/classic/first" = ["bbbbbbbbbbbb", "cccccccccccc"]
"""


def test_a_case_of_an_entry_for_several_is_changed_or_removed_and_the_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(SHARED)

    changed = update(
        path, report({"leave/classic/close": ("FAILED", "dddddddddddd"), "join/classic/first": ("EXCUSED", "cccccccccccc")}), KnownReason()
    )
    removed = update(
        path, report({"leave/classic/close": ("EXCUSED", "aaaaaaaaaaaa"), "join/classic/first": ("NON_STRICT", "bbbbbbbbbbbb")}), KnownReason()
    )

    assert changed.text == SHARED.replace('"aaaaaaaaaaaa" # of the first run', '"dddddddddddd"')
    assert changed.changes == ("changed leave/classic/close: it fails in another way; see that its reason still holds: It did something.",)
    assert removed.text == SHARED.replace('"join/classic/first" = ["bbbbbbbbbbbb", "cccccccccccc"]\n', "")
    assert removed.changes == ("took out join/classic/first: it is NON_STRICT in odd 1.2",)


def test_an_entry_for_several_cases_ends_with_its_last(tmp_path: Path) -> None:
    path = tmp_path / "known.toml"
    path.write_text(f"{KNOWN}\n{SHARED}")

    done = update(path, report({"leave/classic/close": ("OK", None), "join/classic/first": ("OK", None)}), KnownReason())

    assert "disk is full" not in done.text
    assert len(done.changes) == 3


@pytest.mark.parametrize("verdict", ["INCONCLUSIVE", "BROKEN"])
def test_a_case_without_a_verdict_changes_nothing(verdict: str, file: Path) -> None:
    assert update(file, report({"leave/classic/close": (verdict, None)}), KnownReason()).changes == ()


def test_a_new_failure_is_written_so_that_it_can_be_read(file: Path) -> None:
    run = report({"leave/classic/close": ("EXCUSED", "aaaaaaaaaaaa"), "join/classic/x": ("FAILED", "dddddddddddd")})

    done = update(file, run, KnownReason(source="docs/findings/odd-2.md", source_name="findings", releases=">=1.2"))
    write(file, done.text)

    new = load(file).failures[-1]
    assert (new.case, new.fingerprint, new.reason, new.source) == ("join/classic/x", "dddddddddddd", "It did something.", "docs/findings/odd-2.md")
    assert new.is_about("1.3", "kafka-4.1")
    assert not new.is_about("1.1", "kafka-4.1")


def test_a_new_failure_needs_a_page(file: Path) -> None:
    with pytest.raises(WrongUsage, match=r"1 new failures \(join/classic/x\) need a page"):
        update(file, report({"join/classic/x": ("FAILED", "dddddddddddd")}), KnownReason())


def test_entries_in_another_form_are_left_to_a_person(tmp_path: Path) -> None:
    file = tmp_path / "known.toml"
    file.write_text('known = [{case = "x/y/z", subject = "", verdict = "FAILED", fingerprint = "a", reason = "r", url = "u"}]')

    with pytest.raises(WrongUsage, match="update it by hand"):
        update(file, report({}), KnownReason())


def test_a_file_that_cannot_be_written_is_the_environments_fault(tmp_path: Path) -> None:
    with pytest.raises(BrokenEnvironment, match="name another with --file"):
        write(tmp_path / "nowhere" / "known.toml", "")
