"""The leading worker's part: are its configurations new enough, and who is given what (MGR-10, MGR-14, WORKER-16, WTASK-06). Pure."""

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
    """What a worker does for its group while it leads it."""

    def __init__(self, settings: WorkerSettings, random: Random) -> None:
        self._settings, self._random = settings, random
        self._candidates: tuple[Candidate, ...] = ()
        self._under_way: tuple[frozenset[str], int, Placement] | None = None

    def joined(self, members: Iterable[JoinMember]) -> None:
        """Take the generation's members; raise `BlobError` for one whose state cannot be read."""
        self._candidates = tuple(Candidate(member_id=member.member_id, status=decode_status(member.metadata)) for member in members)

    @property
    def newest_version(self) -> int:
        """Return the newest configurations that any member knows of."""
        return max((candidate.status.config_version for candidate in self._candidates), default=0)

    def assignments(self, leader: str, configs: Configs) -> tuple[SyncAssignment, ...]:
        """Return what the leader's SyncGroup holds: tasks for everybody, or none where its configurations are older than a member's."""
        return self._mismatched(leader) if configs.version < self.newest_version else self._assigned(leader, configs)

    def _mismatched(self, leader: str) -> tuple[SyncAssignment, ...]:
        """Tell everybody that the leader's configurations are too old to assign by."""
        nobody: Mapping[str, tuple[str, ...]] = {candidate.member_id: () for candidate in self._candidates}
        return self._encoded(leader, nobody, self.newest_version, CONFIG_MISMATCH)

    def _assigned(self, leader: str, configs: Configs) -> tuple[SyncAssignment, ...]:
        """Give every task of the configurations to one member, as the assignor says, and hand it over as the settings say."""
        target = self._target(configs)
        if self._settings.hand_over == "stop-everything":
            return self._encoded(leader, target, configs.version)
        now = in_this_generation(target, self._candidates)
        is_whole = all(len(now[member]) == len(target[member]) for member in target)
        self._under_way = None if is_whole else (frozenset(target), configs.version, target)
        return self._encoded(leader, now, configs.version, is_partial=not is_whole)

    def _target(self, configs: Configs) -> Placement:
        """Return where tasks are to be; a hand-over under way is ended before another one is begun, or chance would never let it end."""
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
