"""Finding the coordinator: one lookup at a time, with a growing pause after each failure (CLIENT-01 to CLIENT-06)."""

from __future__ import annotations

from groupproof.clients.member.member_core import Core
from groupproof.clients.member.pending_requests import RequestInFlight
from groupproof.clients.outputs import Drop, Node
from groupproof.protocol.rules.classic.member_reactions import Answer, Effect, Lapse, Reaction
from groupproof.protocol.wire.messages import FindCoordinatorRequest, FindCoordinatorResponse

__all__ = ["Finder"]


class Finder:
    """Looks the coordinator up whenever it is unknown. The pause keeps growing until a coordinator answers successfully."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._failures = 0
        self._not_before_ms = 0
        self._is_unproven = False
        group = core.settings.group if core.policy.looks_up_own_group else f"{core.settings.group}-other"
        self._request = FindCoordinatorRequest(coordinator_keys=(group,))

    @property
    def is_looking(self) -> bool:
        return bool(self._core.lookups)

    @property
    def is_proven(self) -> bool:
        """Return whether the coordinator has answered as a coordinator since it was found."""
        return not self._is_unproven and not self._failures

    def seek(self, now_ms: int) -> None:
        """Send FindCoordinator if the coordinator is unknown, no lookup is in flight and the pause is over."""
        core = self._core
        if core.coordinator is not None or self.is_looking:
            return
        if self._is_unproven:  # found, then lost before its first good answer
            self._is_unproven = False
            self._failed(now_ms)
        if now_ms < self._not_before_ms:
            return
        core.lookups = frozenset([core.send(self._request, now_ms) for _ in range(core.policy.lookups_at_once)])

    def next_ms(self) -> int | None:
        """Return when `seek` sends next, or None if it waits for more than time."""
        if self._core.coordinator is not None or self.is_looking:
            return None
        return self._not_before_ms

    def settled(self, pending: RequestInFlight, answer: Answer, response: object, reaction: Reaction, now_ms: int) -> None:
        core = self._core
        if pending.request_id not in core.lookups:
            return
        if Effect.ACCEPT in reaction and isinstance(response, FindCoordinatorResponse) and response.coordinators:
            found = response.coordinators[0]
            core.lookups = frozenset()
            core.coordinator = Node(node_id=found.node_id, host=found.host, port=found.port)
            core.session_ms = now_ms + core.session_timeout_ms
            self._is_unproven = True
            return
        if Effect.IGNORE in reaction:  # keep waiting for the answer
            return
        core.lookups -= {pending.request_id}
        if answer is Lapse.TIMED_OUT:
            core.out.append(Drop(to=None))
        if not core.lookups:
            self._failed(now_ms)

    def proven(self) -> None:
        """Record that the coordinator answered as a coordinator. The next lookup needs no pause."""
        self._failures = 0
        self._is_unproven = False

    def look_again(self) -> None:
        """Forget the coordinator but keep its connection. Some clients do this before each JoinGroup."""
        self._core.coordinator = None
        self._is_unproven = False

    def _failed(self, now_ms: int) -> None:
        """Pause for Kafka's exponential backoff, without jitter, so that a schedule is the same in each run."""
        self._failures += 1
        self._not_before_ms = now_ms + self._core.backoff_ms(self._failures)
