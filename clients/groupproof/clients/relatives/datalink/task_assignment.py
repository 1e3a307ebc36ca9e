"""The leading worker's part: checks its configurations and assigns tasks (MGR-10, MGR-14, WORKER-16, WTASK-06). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from groupproof.clients.relatives.datalink.placement import ASSIGNORS, Candidate, Placement
from groupproof.clients.relatives.datalink.task_handover import in_this_generation
from groupproof.clients.relatives.datalink.tasks import Configs
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.protocol.relatives.datalink_messages import CONFIG_MISMATCH, TaskAssignment, decode_status, encode_assigned
from groupproof.protocol.wire.messages import JoinMember, SyncAssignment

if TYPE_CHECKING:
    from random import Random

__all__ = ["Leading"]


class Leading:
    """A worker's state and decisions as the leader of its group."""

    def __init__(self, settings: WorkerSettings, random: Random) -> None:
        self._settings, self._random = settings, random
        self._candidates: tuple[Candidate, ...] = ()
        self._under_way: tuple[frozenset[str], int, Placement] | None = None

    def joined(self, members: Iterable[JoinMember]) -> None:
        """Store the generation's members. Raise `BlobError` if a member's state cannot be read."""
        self._candidates = tuple(Candidate(member_id=member.member_id, status=decode_status(member.metadata)) for member in members)

    @property
    def newest_version(self) -> int:
        """The newest configuration version that any member knows."""
        return max((candidate.status.config_version for candidate in self._candidates), default=0)

    def assignments(self, leader: str, configs: Configs) -> tuple[SyncAssignment, ...]:
        """Return the assignments for the leader's SyncGroup. They have no tasks if its configurations are older than a member's."""
        return self._mismatched(leader) if configs.version < self.newest_version else self._assigned(leader, configs)

    def _mismatched(self, leader: str) -> tuple[SyncAssignment, ...]:
        """Return assignments that report the leader's configurations as too old."""
        nobody: Mapping[str, tuple[str, ...]] = {candidate.member_id: () for candidate in self._candidates}
        return self._encoded(leader, nobody, self.newest_version, CONFIG_MISMATCH)

    def _assigned(self, leader: str, configs: Configs) -> tuple[SyncAssignment, ...]:
        """Assign every task to one member by the assignor, and hand over according to the settings."""
        target = self._target(configs)
        if self._settings.hand_over == "stop-everything":
            return self._encoded(leader, target, configs.version)
        now = in_this_generation(target, self._candidates)
        is_whole = all(len(now[member]) == len(target[member]) for member in target)
        self._under_way = None if is_whole else (frozenset(target), configs.version, target)
        return self._encoded(leader, now, configs.version, is_partial=not is_whole)

    def _target(self, configs: Configs) -> Placement:
        """Return the target placement. A hand-over under way ends before the next begins; otherwise a random placement could prevent its end."""
        members = frozenset(candidate.member_id for candidate in self._candidates)
        if self._under_way is not None and self._under_way[:2] == (members, configs.version):
            return self._under_way[2]
        tasks = sorted(configs.tasks.values(), key=lambda task: task.name)
        return ASSIGNORS[self._settings.assignor](self._candidates, tasks, self._random)

    def _encoded(
        self, leader: str, placement: Mapping[str, tuple[str, ...]], version: int, error: int = 0, *, is_partial: bool = False
    ) -> tuple[SyncAssignment, ...]:
        url = next((candidate.name for candidate in self._candidates if candidate.member_id == leader), "")
        return tuple(
            SyncAssignment(
                member_id=member_id,
                assignment=encode_assigned(
                    TaskAssignment(leader=leader, leader_url=url, config_version=version, tasks=tasks, error=error, is_partial=is_partial)
                ),
            )
            for member_id, tasks in placement.items()
        )
