"""The functions of DataLink's dialect: those of the classic one, for groups of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from groupproof.coordinator.machine.classic_functions import CLASSIC_FUNCTIONS
from groupproof.coordinator.machine.group import Group
from groupproof.protocol.rules.datalink.datalink_dialect import DATALINK
from groupproof.protocol.rules.dialect import Dialect

__all__ = ["DATALINK_FUNCTIONS", "WorkerGroup"]


@dataclass(slots=True, kw_only=True)
class WorkerGroup(Group):
    """A group of DataLink's workers."""

    dialect: ClassVar[Dialect] = DATALINK


def _group(group_id: str, since_ms: int) -> WorkerGroup:
    return WorkerGroup(group_id=group_id, since_ms=since_ms)


DATALINK_FUNCTIONS: Final = replace(CLASSIC_FUNCTIONS, dialect=DATALINK, group=_group)
