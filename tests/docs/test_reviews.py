"""Each verdict against a published client is on the review page that its expectations file names, with the place in the client's source."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import matrix
from tests.docs.review_pages import Row, about, named_in, pages_of, rows_of
from tests.project import ROOT

from groupproof.clients.registry.registered_clients import EXPECTATIONS, names
from groupproof.harness.judging.summary.expectations import load
from groupproof.harness.reports.matrix_file import newest_of_a_subject


@functools.cache
def newest() -> Mapping[str, Mapping[str, Any]]:
    """Return the newest published run of each registered client."""
    return {run["subject"]["name"]: run for run in newest_of_a_subject(matrix.published(matrix.FOLDER)) if run["subject"]["name"] in names()}


@functools.cache
def rows(client: str) -> Sequence[Row]:
    return about(client, [row for page in pages_of(client) for row in rows_of(page, (ROOT / page).read_text("utf-8"))])


def against(client: str, *verdicts: str) -> list[str]:
    """Return the cases that came to one of these verdicts in the client's newest published run."""
    return [case["id"] for case in newest()[client]["cases"] if case["verdict"] in verdicts]


def missing(cases: Collection[str], of: Sequence[Row]) -> list[str]:
    return sorted(set(cases).difference(*(named_in(row.text, cases) for row in of)))


def wrong_of(reviewed: Callable[[str], Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return what is wrong with the review of each client, of which nearly all is nothing.

    It is asked in few tests, not in one for each client: what was published is read once, not by each worker that collects tests.
    """
    assert newest()
    return {client: wrong for client in sorted(newest()) if (wrong := reviewed(client))}


def test_an_expectations_file_names_the_review_of_its_client() -> None:
    assert wrong_of(lambda client: [page for page in pages_of(client) if not (ROOT / page).is_file()]) == {}
    assert wrong_of(lambda client: [] if pages_of(client) else ["no page"]) == {}


def test_each_verdict_against_a_client_is_on_its_review_page() -> None:
    assert wrong_of(lambda client: missing(against(client, "NON_STRICT", "FAILED", "EXCUSED"), rows(client))) == {}


def test_each_verdict_without_a_page_of_its_own_is_reviewed_with_the_place_in_the_source() -> None:
    # An excused one has the page that its entry names.
    assert wrong_of(lambda client: missing(against(client, "NON_STRICT", "FAILED"), [row for row in rows(client) if row.has_place])) == {}


def test_each_known_failure_is_on_the_review_page_or_on_a_page_that_it_links() -> None:
    cases = {case["id"] for run in newest().values() for case in run["cases"]}

    def unnamed(client: str) -> list[str]:
        text = "\n".join(row.text for row in rows(client))
        named = cases.difference(missing(cases, rows(client)))
        entries = load(EXPECTATIONS / f"{client}.toml").failures
        return [entry.where for entry in entries if Path(entry.source).name not in text and not any(entry.covers(case) for case in named)]

    assert wrong_of(unnamed) == {}


def test_a_verdict_whose_rows_are_gone_is_noticed() -> None:
    deviant = {client: gone[0] for client in newest() if (gone := against(client, "NON_STRICT"))}

    def is_noticed(client: str) -> bool:
        gone = deviant[client]
        left = [row for row in rows(client) if gone not in named_in(row.text, [gone])]
        return gone in missing(against(client, "NON_STRICT"), left)

    assert deviant
    assert [client for client in deviant if not is_noticed(client)] == []
