"""The server-side assignors by the names that a heartbeat gives them; the first is the one of a group whose members name none (CGA-01, CGA-02)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from groupproof.coordinator.assignors.group_spec import ServerAssignor
from groupproof.coordinator.assignors.range_assignor import range_assign
from groupproof.coordinator.assignors.uniform_assignor import uniform_assign

__all__ = ["SERVER_ASSIGNORS", "AssignorFailed"]


class AssignorFailed(Exception):
    """An assignor can't make a target of a group (Kafka's `PartitionAssignorException`); those of Kafka itself always can."""


SERVER_ASSIGNORS: Final[Mapping[str, ServerAssignor]] = MappingProxyType({"uniform": uniform_assign, "range": range_assign})
