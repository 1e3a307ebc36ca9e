"""The server-side assignors by their names in heartbeats. The first is the default, where no member names one (CGA-01, CGA-02)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupproof.coordinator.assignors.group_spec import ServerAssignor
from groupproof.coordinator.assignors.range_assignor import range_assign
from groupproof.coordinator.assignors.uniform_assignor import uniform_assign

__all__ = ["SERVER_ASSIGNORS", "AssignorFailed"]


class AssignorFailed(Exception):
    """An assignor cannot compute a target for a group (Kafka's `PartitionAssignorException`). Kafka's own assignors always can."""


SERVER_ASSIGNORS: Final[Mapping[str, ServerAssignor]] = MappingProxyType({"uniform": uniform_assign, "range": range_assign})
