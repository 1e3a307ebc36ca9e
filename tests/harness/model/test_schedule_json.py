from __future__ import annotations

import json

import pytest

from groupproof.harness.cases.catalogue import cases_of
from groupproof.harness.model.schedule_json import course_from_json, course_to_json
from groupproof.protocol.schemas import validate

FRAME = {"schema": "groupproof.schedule/1", "case": "a/classic/b", "seed": 1, "subject": "groupproof", "profile": "kafka-4.1"}


@pytest.mark.slow
@pytest.mark.parametrize("side", ["client", "coordinator"])
def test_every_course_comes_back_from_a_schedule_as_it_was(side: str) -> None:
    for case in cases_of(side):
        if case.id.startswith("many/"):
            continue
        schedule = {**FRAME, **json.loads(json.dumps(course_to_json(case.plan)))}
        validate("schedule", schedule)
        assert course_from_json(schedule) == case.plan


def test_a_schedule_without_a_course_is_none() -> None:
    with pytest.raises(ValueError, match="neither a plan nor a script"):
        course_from_json(FRAME)
