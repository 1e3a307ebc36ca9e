"""Schedule files: a case's plan with all that a replay needs, and the comparison of its result (contract, "Commands": `groupproof replay FILE`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groupproof.harness.cases.catalogue import every_case
from groupproof.harness.cases.drawn_case import AREA, drawn_case
from groupproof.harness.judging.observed.observed_group import OBSERVED
from groupproof.harness.judging.ruling import Ruling
from groupproof.harness.model.case import Case
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.plan import Plan
from groupproof.harness.model.schedule_json import course_from_json, course_to_json
from groupproof.harness.model.script import Script
from groupproof.harness.model.selection import nearest
from groupproof.harness.model.verdicts import Level, Verdict
from groupproof.protocol.schemas import validate

__all__ = ["SCHEMA", "Schedule", "is_reproduced", "load_schedule", "schedule_to_json"]

SCHEMA = "groupproof.schedule/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A plan or a script with its case, the run's seed and the subject: a registered name with its release, or a command line.

    `verdict` and `fingerprint` are the recorded result, if any. `coordinator` is set if it was not the kit's own. `origin` describes
    a case that is in no catalogue.
    """

    case: str
    seed: int
    subject: str | tuple[str, ...]
    profile: str
    plan: Plan | Script
    verdict: Verdict | None = None
    fingerprint: str | None = None
    coordinator: str | None = None
    origin: Mapping[str, Any] | None = None

    def as_case(self) -> Case:
        """Return the case with this schedule's plan; raise `WrongUsage` when the kit has no judges for it."""
        if self.case.startswith(f"{OBSERVED}/"):
            raise WrongUsage(f"{self.case} was observed live and can't be repeated; judge its trace with: groupproof trace check")
        if isinstance(self.plan, Plan) and self.case.startswith(f"{AREA}/"):
            return drawn_case(self.case, self.plan)
        catalogue = every_case()
        found = next((case for case in catalogue if case.id == self.case), None)
        if found is None and isinstance(self.plan, Script):
            # The oracle judges any script.
            return Case(id=self.case, title="A recorded script.", requirements=(), level=Level.MUST, plan=self.plan, judges=(), side="coordinator")
        if found is None:
            hint = nearest(self.case, (case.id for case in catalogue))
            raise WrongUsage(f"this kit, which may be another release than the schedule's, has no case {self.case!r}{hint}")
        return replace(found, plan=self.plan)


def schedule_to_json(schedule: Schedule) -> dict[str, Any]:
    """Return the schedule as the JSON of its file."""
    subject = schedule.subject if isinstance(schedule.subject, str) else list(schedule.subject)
    found = {
        "coordinator": schedule.coordinator,
        "verdict": schedule.verdict.value if schedule.verdict else None,
        "fingerprint": schedule.fingerprint,
        "origin": schedule.origin,
    }
    return {
        "schema": SCHEMA,
        "case": schedule.case,
        "seed": schedule.seed,
        "subject": subject,
        "profile": schedule.profile,
        **{name: value for name, value in found.items() if value},
        **course_to_json(schedule.plan),
    }


def load_schedule(path: Path) -> Schedule:
    """Raise `WrongUsage` for a file that is missing or no schedule."""
    try:
        value = json.loads(path.read_text("utf-8"))
        validate("schedule", value)
        plan = course_from_json(value)
    except OSError as error:
        raise WrongUsage(f"can't read the schedule {path}: {error.strerror}") from error
    except ValueError as error:
        raise WrongUsage(f"{path} is no schedule file: {error}") from error
    subject = value["subject"]
    return Schedule(
        case=value["case"],
        seed=value["seed"],
        subject=subject if isinstance(subject, str) else tuple(subject),
        profile=value["profile"],
        plan=plan,
        verdict=Verdict(value["verdict"]) if value.get("verdict") else None,
        fingerprint=value.get("fingerprint"),
        coordinator=value.get("coordinator"),
        origin=value.get("origin"),
    )


def is_reproduced(schedule: Schedule, ruling: Ruling) -> bool:
    """Return whether the ruling is as recorded; without a recorded verdict, whether the case broke a rule at all."""
    if schedule.verdict is None:
        return ruling.verdict in (Verdict.FAILED, Verdict.NON_STRICT)
    return ruling.verdict is schedule.verdict and schedule.fingerprint in (None, ruling.fingerprint)
