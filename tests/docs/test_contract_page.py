"""The contract's page says what the schemas and the code say."""

from __future__ import annotations

from pathlib import Path

from groupproof.harness.cases.client import CASES
from groupproof.harness.running.plans.plan_runner import Limits
from groupproof.harness.subjects.shims.contract_lines import LINE_BYTES_MAX
from groupproof.harness.subjects.shims.conversation import EVENTS_MAX
from groupproof.harness.subjects.shims.strict_lines import CAPABILITIES, EVENTS
from groupproof.harness.subjects.subject import FIRST_ANSWER_S
from groupproof.protocol.schemas import schema
from groupproof.protocol.vocabulary import ErrorCode

PAGE = (Path(__file__).parents[2] / "docs" / "contract.md").read_text("utf-8")


def rows(header: str) -> str:
    """Return the table that begins with `header`."""
    return PAGE.split(header, 1)[1].split("\n\n", 1)[0]


def test_every_field_of_subscribe_stands_in_the_table_and_in_the_schema() -> None:
    text = rows("| field of `subscribe` |")

    assert [name for name in schema("shim-command")["$defs"]["subscribe"]["properties"] if f"`{name}`" not in text] == []


def test_every_capability_stands_in_the_table() -> None:
    text = rows("| capability |")

    assert [capability for capability in CAPABILITIES if f"`{capability}`" not in text] == []
    assert {need for case in CASES for need in case.needs} <= CAPABILITIES


def test_capabilities_that_no_case_needs_are_said_to_be_so() -> None:
    needed = {need for case in CASES for need in case.needs}

    assert {"seek", "regex"}.isdisjoint(needed)
    assert rows("| capability |").count("none yet") == 1


def test_every_event_and_every_name_of_an_error_stands_there() -> None:
    assert [event for event in EVENTS if f"`{event}`" not in PAGE and f'"{event}"' not in PAGE] == []
    assert [code.name for code in ErrorCode if code and f"{int(code)} `{code.name}`" not in PAGE] == []


def test_the_bounds_are_the_codes() -> None:
    assert (LINE_BYTES_MAX, EVENTS_MAX, FIRST_ANSWER_S, Limits().subscribe_s) == (1 << 20, 5_000, 20.0, 30.0)
    assert all(bound in PAGE for bound in ("longer than 1 MiB", "more than 5 000\nevents", "answered within 20 s", "`subscribe` within 30 s"))
