from __future__ import annotations

from groupproof.harness.cases.catalogue import CASES, cases_of


def test_each_side_has_its_cases_and_no_id_is_taken_twice() -> None:
    client, coordinator = cases_of("client"), cases_of("coordinator")

    assert {case.side for case in client} == {"client"}
    assert {case.side for case in coordinator} == {"coordinator"}
    assert len({case.id for case in CASES}) == len(CASES) == len(client) + len(coordinator)
