from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.harness.reports.making import BY_ID, REBALANCE, SHARED, a_case, a_result, known_failure, played, summary_of

from groupproof.harness.judging.summary.run_summary import RunSummary
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Finding, Goodbye, Verdict
from groupproof.harness.reports.meanings import VERDICTS
from groupproof.harness.reports.pages.case_view import case_view, picture_of
from groupproof.harness.reports.pages.run_page import page
from groupproof.harness.reports.pictures.timeline import timeline_of
from groupproof.harness.reports.pictures.timeline_svg import draw
from groupproof.protocol.rules.requirements import by_id
from groupproof.protocol.trace import Observation

VOID = {"meta", "br", "input", "link", "img", "hr"}
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


class Elements(HTMLParser):
    """Collects elements, and whether each was closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(run: RunSummary) -> str:
    timelines = {case.case.id: picture_of(case.result) for case in run.cases}
    pictures = {id: draw(timeline_of(view.trace), view.flags).inline(title=id) for id, view in timelines.items() if view is not None}
    return page(run, [case_view(case, timelines[case.case.id]) for case in run.cases], pictures, "out")


@pytest.fixture(scope="module")
def real() -> str:
    return page_of(summary_of(*played(SHARED), *played(REBALANCE, variant="ignores-heartbeat-27")))


def text_of(made: str) -> str:
    without = re.sub(r"<(script|style)>.*?</\1>", "", made, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", without)).split())


def test_the_page_is_sound_html(real: str) -> None:
    assert Elements(real).open == []


def test_the_page_loads_nothing_from_anywhere(real: str) -> None:
    loaded = {(tag, name) for tag, attrs in Elements(real).found for name in attrs if name in ("src", "srcset", "data", "action", "xlink:href")}

    assert loaded == set()
    assert not [tag for tag, _ in Elements(real).found if tag in ("link", "iframe", "object", "embed", "img", "base")]
    assert "default-src 'none'" in real
    assert not re.search(r"@import|url\((?!#)", real)


def test_links_lead_into_the_page_or_beside_it(real: str) -> None:
    links = {attrs["href"] or "" for tag, attrs in Elements(real).found if tag == "a"}

    assert links
    assert all(link.startswith(("#case=", "cases/")) for link in links)


def test_every_verdict_is_defined_on_the_page(real: str) -> None:
    text = text_of(real)

    for verdict, meaning in VERDICTS.items():
        assert f"{verdict.value} {meaning}" in text


@pytest.mark.requirement("TUNE-09")
def test_a_failure_is_reported_with_requirement_frames_timeline_and_replay(real: str) -> None:
    text = text_of(real)

    requirement = by_id("HB-58")
    assert f"HB-58 {requirement.level.value} {' '.join(requirement.text.split())}" in text
    assert "Expected Observed" in text
    assert "No JoinGroup came." in text
    assert "REBALANCE_IN_PROGRESS · put in by fault" in text
    assert "3/3 under the same schedule" in text
    assert f"groupproof replay out/cases/{REBALANCE}/plan.json" in text
    assert 'class="flag"' in real
    assert "Arm fault" in text


def test_severe_problems_come_first(real: str) -> None:
    assert text_of(real).index("What was found 1 of 2 cases are worth a look FAILED") < text_of(real).index("rebalance 1 cases")


def test_cases_of_one_cause_are_reported_once_and_can_be_opened() -> None:
    alike = [a_result(Verdict.FAILED, a_case(f"join/classic/n{number}"), fingerprint="ab", observed="It left.") for number in range(4)]
    made = page_of(summary_of(*alike, a_result(Verdict.FAILED, a_case("sync/classic/other"), fingerprint="cd")))

    assert "5 of 5 cases are worth a look, of 2 causes" in text_of(made)
    assert text_of(made).count("and 3 more") == 1
    assert "seen in 1 of 1 run · 0 receipts · the kit did not lag" in text_of(made)
    links = [attrs.get("href") for tag, attrs in Elements(made).found if tag == "a"]
    assert all(f"#case=join/classic/n{number}" in links for number in range(4))


def test_whatever_a_client_says_it_is_text() -> None:
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    trace = [Observation(seq=0, at_ns=0, kind="event", who="shim", client=hostile, body={"name": "error", "message": hostile})]
    failed = Finding(verdict=Verdict.FAILED, requirement="HB-03", expected="no", observed=hostile, seq=0, detail=hostile)
    result = a_result(
        Verdict.FAILED,
        observed=hostile,
        findings=[failed],
        traces=[trace],
        stderr={hostile: [hostile]},
        goodbye=Goodbye.UNCLEAN,
        goodbye_reason=hostile,
    )

    made = page_of(summary_of(result, stale=[hostile], environment={hostile: hostile}, command=hostile))

    elements = Elements(made)
    assert [tag for tag, _ in elements.found].count("script") == 1
    assert "img" not in [tag for tag, _ in elements.found]
    assert not [name for _, attrs in elements.found for name in attrs if name.startswith("on")]


def test_an_interrupted_run_says_what_was_not_reached() -> None:
    made = text_of(page_of(summary_of(a_result(), selected=[a_case(), a_case("sync/classic/later")], interrupted=True)))

    assert "Interrupted. This report is partial: 1 of 2 cases were reached; not reached: 1 cases sync/classic/later" in made


def test_a_crash_beside_other_cases_is_reported_above_the_cases() -> None:
    made = page_of(summary_of(a_result(shared_ends=("exited with status 1: panic <7>",))))

    assert "exited with status 1: panic &lt;7&gt;" in made
    assert "Crashes beside other cases." in text_of(made)


def test_a_run_that_reached_nothing_has_a_page() -> None:
    made = text_of(page_of(summary_of(selected=[a_case()], interrupted=True)))

    assert "example 1.2 NO_VERDICT" in made
    assert "Nothing to complain about" not in made


def test_excuses_stale_expectations_previews_and_troubles_are_reported() -> None:
    excused = a_result(Verdict.FAILED, a_case("join/classic/excused"))
    preview = a_result(Verdict.NON_STRICT, a_case("join/classic/new", preview=True))
    broken = a_result(Verdict.INCONCLUSIVE, a_case("join/classic/broken"), trouble=BrokenEnvironment("port 9092 is in use"))
    run = summary_of(excused, preview, broken, excused={excused.case.id: known_failure(excused.case.id)}, stale=["known.toml, entry 2: passes"])

    made = text_of(page_of(run))

    assert "Known. drops its id on 27 · https://example.org/1 It is FAILED in the way that known.toml, entry 1 says it is." in made
    assert "Stale expectations." in made
    assert "known.toml, entry 2: passes" in made
    assert "preview" in made
    assert "Not the subject’s doing. port 9092 is in use" in made


def test_an_excuse_that_is_no_web_address_is_no_link() -> None:
    excused = a_result(Verdict.FAILED)
    source = "javascript:alert(1)"

    made = page_of(summary_of(excused, excused={excused.case.id: known_failure(excused.case.id, source=source)}))

    assert source in text_of(made)
    assert not [attrs for tag, attrs in Elements(made).found if tag == "a" and (attrs["href"] or "").startswith("javascript")]


SIDE_BY_SIDE = """<!DOCTYPE html><body><pre></pre><script>
for (const fragment of {fragments}) {{
  const frame = document.createElement("iframe");
  frame.src = "{file}#" + fragment;
  document.body.append(frame);
}}
addEventListener("load", () => {{
  const hidden = (frame) => [...frame.contentDocument.querySelectorAll("[data-item]")].map((item) => [item.dataset.item, item.hidden]);
  document.querySelector("pre").textContent = JSON.stringify([...document.querySelectorAll("iframe")].map(hidden));
}});
</script>"""
"""The page opened by several addresses at once: to start a browser for each takes most of a second."""


def hidden_items(file: Path, fragments: list[str]) -> dict[str, dict[str, bool]]:
    """Return by fragment which items are hidden when the page is opened by an address with it."""
    assert CHROMIUM is not None
    frames = file.with_name("frames.html")
    frames.write_text(SIDE_BY_SIDE.format(file=file.name, fragments=json.dumps(fragments)))
    flags = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",
        f"--user-data-dir={file.parent / 'profile'}",
        "--dump-dom",
    )
    dom = subprocess.run([CHROMIUM, *flags, f"file://{frames}"], capture_output=True, text=True, timeout=300, check=True).stdout
    (listed,) = re.findall(r"<pre>(.*?)</pre>", dom, flags=re.DOTALL)
    return dict(zip(fragments, map(dict, json.loads(unescape(listed))), strict=True))


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, to see that filters come from the address")
def test_filters_are_kept_in_the_address(real: str, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(real)

    fragments = {
        "": {SHARED: False, REBALANCE: False},
        "verdict=FAILED": {SHARED: True, REBALANCE: False},
        "area=rebalance": {SHARED: False, REBALANCE: True},
        f"q={BY_ID[REBALANCE].requirements[0].lower()}+no+joingroup+came": {SHARED: True, REBALANCE: False},
        f"verdict=OK&case={REBALANCE}": {SHARED: False, REBALANCE: False},
    }
    assert hidden_items(file, list(fragments)) == fragments
