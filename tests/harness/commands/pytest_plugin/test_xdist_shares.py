from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.harness.commands.pytest_plugin.made import CASE, OTHER, about, shared_result

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.commands.pytest_plugin.xdist_shares import ENDED, SharedFolder, ShareEnd, share_cases
from groupproof.harness.judging.case_result import Play
from groupproof.harness.model.case_length import length_ms
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.verdicts import Verdict


def test_every_case_is_in_one_share_and_the_shares_are_about_as_long() -> None:
    cases = cases_of("client")

    shares = share_cases(cases, 3)

    assert sorted(case.id for share in shares for case in share) == sorted(case.id for case in cases)
    lengths = [sum(length_ms(case) for case in share) for share in shares]
    assert max(lengths) < min(lengths) * 1.2


def test_the_same_cases_are_dealt_in_the_same_way_whatever_their_order() -> None:
    assert share_cases([CASE, OTHER], 2) == share_cases([OTHER, CASE], 2)


def test_a_share_is_claimed_once(tmp_path: Path) -> None:
    one, other = SharedFolder(tmp_path), SharedFolder(tmp_path)

    assert one.claim(0)
    assert not other.claim(0)
    assert not one.claim(0)
    assert other.claim(1)
    assert not other.is_deserted(0)
    one.let_go()
    other.let_go()


def test_a_share_whose_worker_is_gone_is_deserted_and_nobody_takes_it_over(tmp_path: Path) -> None:
    one, other = SharedFolder(tmp_path), SharedFolder(tmp_path)
    one.claim(0)
    one.let_go()

    assert other.is_deserted(0)
    assert not other.claim(0)
    assert not other.is_deserted(1)


def test_what_one_process_has_seen_another_reads(tmp_path: Path) -> None:
    folder = SharedFolder(tmp_path)
    sent = shared_result(Verdict.FAILED, trouble=BrokenEnvironment("no port"))
    folder.tell(sent)
    folder.put(f"0{ENDED}", ShareEnd(about=about(), trouble=None))

    read = folder.result(sent.case)

    assert read is not None
    assert (read.case, read.ruling, str(read.trouble)) == (sent.case, sent.ruling, "no port")
    assert read.result(CASE).case is CASE
    assert folder.everything(ENDED)[0].about.subject.title == "odd 1.2"
    assert folder.result("b/c") is None


def test_traces_are_read_where_there_are_frames_to_show_or_all_is_wanted(tmp_path: Path) -> None:
    folder, play = SharedFolder(tmp_path), Play(trace=[], stderr={}, duration_s=1.0)
    for verdict, case in ((Verdict.OK, CASE), (Verdict.FAILED, OTHER)):
        folder.tell(replace(shared_result(verdict, case.id), plays=[play]))

    entries = [folder.result(CASE.id), folder.result(CASE.id, whole=True), folder.result(OTHER.id)]

    assert [len(result.plays) for result in entries if result is not None] == [0, 1, 1]
