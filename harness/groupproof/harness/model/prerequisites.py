"""What a case needs; without it the case is UNIMPLEMENTED. Pure.

A coordinator case needs API versions in the broker's ApiVersions. A client case needs capabilities of the shim and features of the release. A need
is an API's name (`OffsetDelete`: any version), with a version that must be spoken (`JoinGroup=0`), or with a minimum for the newest version
(`JoinGroup>=5`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from groupproof.harness.model.case import Case, plan_of, script_of
from groupproof.harness.model.case_dialect import dialect_asked, dialect_of_case
from groupproof.harness.model.plan import Command, Plan
from groupproof.harness.model.script import Ask
from groupproof.protocol.rules.classic.releases import RELEASES
from groupproof.protocol.rules.profiles import spoken_in
from groupproof.protocol.vocabulary import COOPERATIVE, Api, api_named

__all__ = ["CORE_APIS", "is_core", "is_spoken", "needs_of", "needs_of_plan", "read_need", "unheard_of"]

CORE_APIS = frozenset(
    {
        Api.JOIN_GROUP,
        Api.SYNC_GROUP,
        Api.HEARTBEAT,
        Api.LEAVE_GROUP,
        Api.OFFSET_COMMIT,
        Api.OFFSET_FETCH,
        Api.FIND_COORDINATOR,
        Api.API_VERSIONS,
        Api.METADATA,
    }
)
"""The APIs that every coordinator of the classic protocol speaks in some version. A case that needs no others can be on its level's required list."""

_NEED = re.compile(r"(?P<api>\w+)(?:(?P<how>>=|=)(?P<version>\d+))?")


def needs_of(case: Case) -> frozenset[str]:
    """Return the needs of the case and of its script: each API, and each version that a step insists on."""
    asks = [step for step in script_of(case).steps if isinstance(step, Ask)]
    exact = {f"{step.api.title}={step.version}" for step in asks if step.version is not None}
    return case.needs | exact | {step.api.title for step in asks}


def is_core(case: Case) -> bool:
    """Return whether every coordinator of the classic protocol must support the case, whatever its age."""
    return all(not need.group("how") and api_named(need.group("api")) in CORE_APIS for need in map(read_need, needs_of(case)))


def read_need(need: str) -> re.Match[str]:
    """Return the need's parts `api`, `how` and `version`. Raise `ValueError` where the text is no need."""
    found = _NEED.fullmatch(need)
    if found is None:
        raise ValueError(f"{need!r} is no need: write JoinGroup, JoinGroup=5 or JoinGroup>=5")
    return found


_OF_COMMANDS: Final = {"pause": "pause", "resume": "pause", "commit": "commit", "resubscribe": "resubscribe"}


def needs_of_plan(plan: Plan) -> Iterator[str]:
    """Yield the capabilities that a shim must declare for this plan, from the commands to its clients and from their settings."""
    subjects = {member.name: member.settings for member in plan.members if member.kind == "subject"}
    for step in plan.steps:
        if isinstance(step, Command) and step.member in subjects:
            yield from _needs_of_command(step)
    for settings in subjects.values():
        yield from _needs_of_settings(settings)


def _needs_of_command(step: Command) -> Iterator[str]:
    if step.command in _OF_COMMANDS:
        yield _OF_COMMANDS[step.command]
    if step.fields.get("mode") == "async":
        yield "commit-async"
    if step.command == "close" and "timeout_ms" in step.fields:
        yield "close-timeout"


def _needs_of_settings(settings: Mapping[str, Any]) -> Iterator[str]:
    yield dialect_asked(settings)
    on_revoked = settings.get("on_revoked", {})
    for need, is_asked in {
        "regex": "pattern" in settings,
        "static": "instance_id" in settings,
        "cooperative": COOPERATIVE & set(settings.get("assignors", ())),
        "on-revoked": on_revoked,
        "commit": on_revoked.get("commit"),
        "auto-commit": settings.get("auto_commit"),
    }.items():
        if is_asked:
            yield need


_STATIC_SINCE: Final = (2, 3)
_SIZE_LIMIT_SINCE: Final = (2, 2)


def is_spoken(dialect: str, profile: str) -> bool:
    """Return whether the brokers of a profile speak a dialect. Return True where the profile is no release of Kafka: nothing is known about it."""
    return profile not in RELEASES or dialect in {spoken.name for spoken in spoken_in(profile)}


def unheard_of(case: Case, profile: str) -> str:
    """Return which feature of a client case the brokers of a profile lack. Return "" where they have all, and for a profile that is no release."""
    dialect = dialect_of_case(case.id)
    if dialect and not is_spoken(dialect, profile):
        return f"The brokers of {profile} do not speak the protocol {dialect}."
    release = RELEASES.get(profile, _STATIC_SINCE)
    if "static" in case.needs and release < _STATIC_SINCE:
        return f"{profile} has no static members (KIP-345 came with 2.3)."
    if "group.max.size" in plan_of(case).coordinator and release < _SIZE_LIMIT_SINCE:
        return f"{profile} has no group.max.size (KIP-389 came with 2.2)."
    return ""
