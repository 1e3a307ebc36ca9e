from __future__ import annotations

import pytest
from tests.harness.commands.pytest_plugin.made import CASE

from groupproof.harness.commands.pytest_plugin.items import CaseItem, Cases
from groupproof.harness.commands.pytest_plugin.outcome_text import ItemOutcome, Kind

pytest_plugins = ["pytester"]


def _item(pytester: pytest.Pytester, kind: Kind) -> CaseItem:
    pytester.makeini("[pytest]\n")
    session = pytest.Session.from_config(pytester.parseconfigure("-p", "no:randomly"))
    (item,) = Cases.made(session, [CASE], lambda case: ItemOutcome(kind=kind, text=f"{case.id} says so")).collect()
    return item


def test_an_item_is_named_as_the_list_of_cases_names_it(pytester: pytest.Pytester) -> None:
    item = _item(pytester, Kind.PASSED)

    assert str(item.nodeid) == f"groupproof::{CASE.id}"
    assert item.path.name == "tox.ini"
    assert set(CASE.requirements) <= item.extra_keyword_matches
    mark = item.get_closest_marker("groupproof")
    assert mark is not None
    assert mark.kwargs == {"side": "client", "level": CASE.level.value.lower()}


@pytest.mark.parametrize(
    ("kind", "raised"),
    [(Kind.FAILED, pytest.fail.Exception), (Kind.SKIPPED, pytest.skip.Exception), (Kind.EXPECTED, pytest.xfail.Exception)],
)
def test_an_item_ends_as_its_case_did(pytester: pytest.Pytester, kind: Kind, raised: type[BaseException]) -> None:
    item = _item(pytester, kind)
    item.setup()

    with pytest.raises(raised, match="says so"):
        item.runtest()


def test_what_says_nothing_of_the_subject_is_an_error_before_the_test(pytester: pytest.Pytester) -> None:
    with pytest.raises(pytest.fail.Exception, match="says so"):
        _item(pytester, Kind.ERROR).setup()
