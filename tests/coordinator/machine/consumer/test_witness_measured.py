"""The requirements of which every measured step is played against the machine: each step is answered as the brokers of five releases answered it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import pytest
from tests.coordinator.machine.consumer.dialect_at_hand import dialect_is_there, profile_of
from tests.coordinator.machine.consumer.measured_answers import RELEASES, measured
from tests.coordinator.machine.consumer.measured_scripts import answers_of, scripts

from groupproof.protocol.rules.requirements import Requirement, requirements

_STEP = re.compile(r"\b[VMESXFAOCDLP]\d+[a-z]?\b")


@cache
def _differences() -> Mapping[str, str]:
    """Return what differs, by step."""
    answers, found = measured(), dict[str, str]()
    with dialect_is_there():
        for release in RELEASES:
            for step, observed in answers_of(profile_of(release)):
                if difference := observed.differs(answers[step][release]):
                    found[step.rpartition("/")[2]] = f"{release}: {difference}"
    return found


def _steps(requirement: Requirement) -> set[str]:
    return set(_STEP.findall(requirement.measured))


def _is_played(requirement: Requirement, played: set[str]) -> bool:
    return requirement.side in ("coordinator", "both") and bool(steps := _steps(requirement)) and steps <= played


@pytest.mark.slow
@pytest.mark.requirement(
    "CGH-01", "CGH-02", "CGH-03", "CGH-04", "CGH-05", "CGH-06", "CGH-07", "CGH-08", "CGH-09", "CGH-10", "CGH-11", "CGH-12", "CGH-13", "CGH-14",
    "CGH-15", "CGH-16", "CGH-17", "CGH-18", "CGH-19", "CGH-20", "CGH-21", "CGH-22", "CGH-23", "CGH-24", "CGH-25", "CGH-26", "CGH-27", "CGH-28",
    "CGH-29", "CGH-30", "CGH-31", "CGH-32", "CGH-34", "CGH-35", "CGH-39", "CGH-43", "CGH-44", "CGH-45", "CGH-46", "CGH-47", "CGM-01", "CGM-02",
    "CGM-03", "CGM-04", "CGM-05", "CGM-06", "CGM-07", "CGM-08", "CGM-09", "CGM-10", "CGM-11", "CGM-12", "CGM-13", "CGM-14", "CGM-15", "CGM-16",
    "CGM-17", "CGM-18", "CGM-19", "CGM-20", "CGM-21", "CGM-22", "CGM-23", "CGM-24", "CGM-25", "CGM-26", "CGM-27", "CGM-28", "CGM-29", "CGM-30",
    "CGM-31", "CGM-32", "CGM-33", "CGM-34", "CGM-35", "CGM-36", "CGM-37", "CGM-38", "CGM-39", "CGM-40", "CGM-41", "CGM-42", "CGM-43", "CGM-44",
    "CGM-45", "CGM-46", "CGM-47", "CGM-48", "CGM-49", "CGM-50", "CGM-51", "CGM-52", "CGM-53", "CGM-54", "CGR-01", "CGR-02", "CGR-03", "CGR-04",
    "CGR-05", "CGR-06", "CGR-07", "CGR-08", "CGR-09", "CGR-10", "CGR-11", "CGR-13", "CGR-14", "CGR-15", "CGR-16", "CGR-17", "CGR-18", "CGR-19",
    "CGR-20", "CGR-21", "CGR-22", "CGR-23", "CGR-24", "CGR-26", "CGR-27", "CGR-28", "CGR-29", "CGR-30", "CGR-31", "CGR-32", "CGR-33", "CGR-34",
    "CGR-35", "CGR-36", "CGR-37", "CGR-38", "CGS-01", "CGS-02", "CGS-03", "CGS-04", "CGS-05", "CGS-06", "CGS-08", "CGS-09", "CGS-10", "CGS-11",
    "CGS-12", "CGS-13", "CGS-14", "CGS-15", "CGS-16", "CGS-17", "CGS-18", "CGS-19", "CGS-20", "CGS-21", "CGS-22", "CGS-23", "CGS-24", "CGS-25",
    "CGS-26", "CGS-27", "CGS-28", "CGS-29", "CGS-30", "CGS-31", "CGS-32", "CGS-33", "CGS-34", "CGS-35", "CGA-01", "CGA-02", "CGA-03", "CGA-05",
    "CGA-06", "CGA-07", "CGA-08", "CGA-09", "CGA-11", "CGA-13", "CGA-14", "CGA-15", "CGA-16", "CGA-17", "CGA-18", "CGA-19", "CGA-20", "CGA-21",
    "CGA-22", "CGA-23", "CGA-24", "CGA-25", "CGX-01", "CGX-02", "CGX-03", "CGX-04", "CGX-05", "CGX-06", "CGX-07", "CGX-08", "CGX-09", "CGX-10",
    "CGX-11", "CGX-12", "CGX-13", "CGX-14", "CGX-15", "CGX-16", "CGX-17", "CGX-18", "CGX-19", "CGX-20", "CGX-21", "CGX-22", "CGX-23", "CGX-24",
    "CGX-25", "CGX-26", "CGX-27", "CGX-28", "CGX-29", "CGX-32", "CGO-01", "CGO-02", "CGO-03", "CGO-04", "CGO-05", "CGO-06", "CGO-07", "CGO-08",
    "CGO-10", "CGO-11", "CGO-12", "CGO-13", "CGO-14", "CGO-15", "CGO-16", "CGO-17", "CGO-18", "CGO-19", "CGO-20", "CGO-21", "CGO-22",
    "CGO-24", "CGO-29", "CGO-30", "CGO-31", "CGO-32", "CGO-33", "CGO-34", "CGO-35", "CGO-36", "CGO-37", "CGO-40", "CGO-41", "CGO-42", "CGO-43",
    "CGO-44", "CGO-45", "CGO-46", "CGO-47", "CGO-48", "CGO-49", "CGO-50", "CGO-51", "CGO-52", "CGO-53", "CGD-01", "CGD-02", "CGD-03", "CGD-04",
    "CGD-05", "CGD-06", "CGD-07", "CGD-08", "CGD-09", "CGD-10", "CGD-11", "CGD-12", "CGD-13", "CGD-16", "CGD-17", "CGD-18", "CGD-19", "CGD-20",
    "CGD-21", "CGD-22", "CGD-23", "CGD-24", "CGD-25", "CGD-26", "CGD-27", "CGD-28", "CGD-29", "CGD-30", "CGD-31", "CGD-32", "CGD-33", "CGD-34",
    "CGD-35", "CGD-36", "CGD-37", "CGD-38", "CGD-39", "CGD-40", "CGG-01", "CGG-02", "CGG-03", "CGG-04", "CGG-05", "CGG-06", "CGG-09", "CGG-10",
    "CGG-11", "CGG-12", "CGG-13", "CGG-14", "CGG-15", "CGG-16", "CGG-17", "CGG-18", "CGG-19", "CGG-20", "CGG-21", "CGG-22", "CGG-23", "CGG-24",
    "CGG-25", "CGG-26", "CGG-27", "CGG-28", "CGG-30", "CGG-31", "CGG-32", "CGG-33", "CGG-34", "CGG-35", "CGG-36", "CGG-37", "CGG-38", "CGG-39",
    "CGG-40", "CGG-41", "CGG-42", "CGG-43", "CGG-44", "CGG-45", "CGG-46", "CGG-47", "CGG-48", "CGG-49", "CGG-50", "CGG-51", "CGG-52", "CGG-53",
    "CGG-54", "CGG-55", "CGG-56", "CGG-57", "CGG-58", "CGG-59", "CGG-60", "CGG-61", "CGG-62", "CGG-63", "CGG-64", "CGG-65", "CGG-66", "CGG-67",
    "CGG-68", "CGG-69", "CGG-71", "CGG-72", "CGG-73", "CGG-74", "CGG-75", "CGG-76", "CGL-01", "CGL-02", "CGL-03", "CGL-04", "CGL-07", "CGL-08",
    "CGL-09", "CGL-10", "CGL-11", "CGL-12", "CGL-13", "CGI-01", "CGI-02", "CGI-03", "CGI-04", "CGI-05", "CGI-06", "CGI-07", "CGI-08", "CGI-09",
    "CGI-10", "CGI-11", "CGI-12", "CGI-14", "CGI-15", "CGI-16",
)  # fmt: skip
def test_every_requirement_whose_steps_are_played_is_kept_in_each_of_them(request: pytest.FixtureRequest) -> None:
    played, differences = {step.rpartition("/")[2] for step, _ in scripts()}, _differences()  # a step of several policies has one name
    marked = {id for mark in request.node.iter_markers("requirement") for id in mark.args}

    broken = {item.id: differences.keys() & _steps(item) for item in requirements() if item.id in marked and differences.keys() & _steps(item)}
    assert broken == {}
    assert {item.id for item in requirements() if _is_played(item, played)} == marked
