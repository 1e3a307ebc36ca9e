from __future__ import annotations

from tests.harness.commands.calling import Call

from groupproof.harness.cases.catalogue import every_case
from groupproof.protocol.rules.coverage import SIDES, gaps, judged, unjudged, witnesses
from groupproof.protocol.rules.requirements import requirements

PROVEN = len({requirement.id for requirement in requirements()} & witnesses().keys())


def test_it_says_how_many_are_proven_and_why_the_others_are_not(groupproof: Call) -> None:
    called = groupproof("list", "--coverage")

    assert called.code == 0
    assert f"\n{PROVEN} of {len(requirements())} requirements have a witness among the tests\n" in called.out
    of_clients, of_coordinators = (len(judged()[side]) for side in SIDES)
    either = len({*judged()["client"], *judged()["coordinator"]})
    assert (
        f"\n{either} of {len(requirements())} are judged in a subject by a case: {of_clients} in a client, {of_coordinators} in a coordinator\n"
        in called.out
    )
    for gap in unjudged():
        assert f"{len(gap.ids)} MUSTs on the client's side that no case judges: {gap.why} Needs: {gap.needs}.\n  {' '.join(gap.ids)}\n" in called.out
    for gap in gaps():
        assert f"{len(gap.ids)} without a witness: {gap.why} Needs: {gap.needs}.\n  {' '.join(gap.ids)}\n" in called.out


def test_the_sections_are_distinguished_and_add_up(groupproof: Call) -> None:
    entry = groupproof("list", "--coverage", "--json").json

    assert sum(section["requirements"] for section in entry["sections"]) == entry["requirements"] == len(requirements())
    assert sum(section["witnessed"] for section in entry["sections"]) == entry["witnessed"] == PROVEN
    missing = {id for gap in entry["missing"] for id in gap["ids"]}
    assert {key for key, by in entry["by_id"].items() if not by["witnesses"]} == missing


def test_an_id_tells_its_witnesses_rules_and_cases(groupproof: Call) -> None:
    entry = groupproof("list", "--coverage", "--json").json["by_id"]["TR-118"]

    assert all(witness.startswith("tests/") and "::test_" in witness for witness in entry["witnesses"])
    assert entry["rules"] == ["Heartbeat/Stable/alive"]
    assert entry["cases"]
    assert {*entry["cases"], *entry["listed_by"]} <= {case.id for case in every_case()}
