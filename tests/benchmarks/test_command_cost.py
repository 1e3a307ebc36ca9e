"""What commands load is counted: modules tell the same on a loaded machine as on a quiet one."""

from __future__ import annotations

from typing import Final

import pytest
from tests.benchmarks.command_cost import STARTS, cost_of, started

HEAVY: Final = frozenset({"hypothesis", "http.client", "jinja2", "jsonschema", "kio", "msgspec", "packaging", "pytest", "rich", "trio"})
"""Packages that take tens of milliseconds to load."""

OWN_MAX: Final = {"--help": 46, "certify client --help": 16, "list": 260, "list clients": 42}
NEEDED: Final = {"list": frozenset({"kio", "msgspec"}), "list clients": frozenset({"msgspec", "packaging"})}


@pytest.mark.slow
@pytest.mark.parametrize("arguments", STARTS, ids=" ".join)
def test_a_command_loads_what_it_needs_and_no_more(arguments: tuple[str, ...]) -> None:
    command = " ".join(arguments)
    start = started(arguments)

    assert "groupproof.harness.commands" in start.own, "the count is of a command that ran"
    assert len(start.own) <= OWN_MAX[command]
    assert start.modules & HEAVY <= NEEDED.get(command, frozenset())


@pytest.mark.slow
def test_a_run_tells_what_its_cases_cost() -> None:
    cost = cost_of("groupproof", ["heartbeat/classic/rebalance-in-progress"])

    assert cost.cases == 1
    assert cost.longest_s > 0
    assert cost.harness_s > 0
