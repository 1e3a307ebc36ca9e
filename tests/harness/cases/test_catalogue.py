from __future__ import annotations

import subprocess
import sys

import pytest

from groupproof.harness.cases.catalogue import DIALECT_CAPABILITIES, PREVIEW, as_declared, cases_of, client_side, every_case
from groupproof.harness.model.case_dialect import dialect_of_case


def test_each_side_has_its_cases_and_no_id_is_used_twice() -> None:
    client, coordinator = cases_of("client"), cases_of("coordinator")

    assert {case.side for case in (*client, *client_side())} == {"client"}
    assert {case.side for case in coordinator} == {"coordinator"}
    assert len({case.id for case in every_case()}) == len(every_case()) == len(client_side()) + len(coordinator)


def test_a_client_has_the_cases_of_the_dialects_that_it_and_its_brokers_speak() -> None:
    both, classic, alone = cases_of("client", DIALECT_CAPABILITIES), cases_of("client"), cases_of("client", ("consumer",))

    assert (*classic, *alone) == both
    assert {dialect_of_case(case.id) for case in alone} == {"consumer"}
    assert cases_of("client", DIALECT_CAPABILITIES, "kafka-3.9") == classic
    assert cases_of("client", DIALECT_CAPABILITIES, "kafka-4.0") == both


def test_what_a_client_calls_a_preview_is_shown_and_not_counted() -> None:
    cases = cases_of("client", (*DIALECT_CAPABILITIES, PREVIEW))

    assert {(dialect_of_case(case.id), case.preview) for case in cases} == {("classic", False), ("consumer", True)}
    assert as_declared(cases_of("client", DIALECT_CAPABILITIES), (*DIALECT_CAPABILITIES, PREVIEW)) == cases


@pytest.mark.slow
def test_a_client_is_certified_without_the_cases_of_coordinators() -> None:
    """They are 0.1 s of each command's start."""
    asked = (
        "cases_of('client'); import groupproof.harness.commands.certify, groupproof.harness.running.hold, groupproof.harness.reports.report_writer"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", f"import sys; from groupproof.harness.cases.catalogue import cases_of; {asked}; print(*sys.modules, sep='\\n')"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip

    assert "groupproof.harness.cases.client.join" in loaded
    assert [name for name in loaded if name.startswith("groupproof.harness.cases.coordinator")] == []
