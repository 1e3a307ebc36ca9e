"""The deviations of Go's clients, each alone and combined as in each client: franz-go 1.22.2, sarama 1.61.1, kafka-go 0.4.51. All legal."""

from __future__ import annotations

from typing import Final

from groupproof.clients.member.policy import UNHEARD_OF, Override
from groupproof.clients.planted.member_variant import way
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import COORDINATOR_UNAVAILABLE, Api

__all__ = ["GO"]

_NO_DEADLINE: Final = frozenset({"poll-deadline"})
_REJOINS_AS_IT_IS: Final = (Effect.DROP_GENERATION, Effect.LOSE, Effect.REJOIN)
_DROPS_ID: Final = (Effect.DROP_GENERATION, Effect.DROP_ID, Effect.LOSE, Effect.REJOIN)

# Codes that no client handles specially. A list, because an override of every answer would include 27.
_NOBODYS: Final = (30, UNHEARD_OF, 12, 23, 24, 26, 28, 81)
_ONCE_MORE: Final = (
    Override(api=Api.HEARTBEAT, answers=(25,), effects=_REJOINS_AS_IT_IS),
    Override(api=Api.SYNC_GROUP, answers=(25,), effects=_REJOINS_AS_IT_IS),
    Override(api=Api.OFFSET_COMMIT, answers=(25,), effects=(*_REJOINS_AS_IT_IS, Effect.FAIL)),
)
_STAYS: Final = (Effect.REPORT, Effect.REJOIN)
_GIVES_ITS_SESSION_UP: Final = Override(api=Api.HEARTBEAT, answers=(14, *_NOBODYS), effects=_STAYS)
_GIVES_ITS_GENERATION_UP: Final = Override(api=Api.HEARTBEAT, answers=(*sorted(COORDINATOR_UNAVAILABLE), *_NOBODYS), effects=_STAYS)
_FAILS_AT_ONCE: Final = Override(api=Api.OFFSET_COMMIT, answers=(7, *sorted(COORDINATOR_UNAVAILABLE)), effects=(Effect.FAIL,))
_CONSTANT: Final = {"properties": {"retry.backoff.max.ms": 100}}
"""A backoff that does not grow."""

_OLD: Final = {
    Api.FIND_COORDINATOR: 0, Api.JOIN_GROUP: 2, Api.SYNC_GROUP: 0, Api.HEARTBEAT: 0, Api.LEAVE_GROUP: 0, Api.OFFSET_COMMIT: 2, Api.OFFSET_FETCH: 1,
}  # fmt: skip


_WAYS: Final = (
    way("connects-anew-for-each-generation", "Opens a new connection to the coordinator for each JoinGroup, and uses it for the membership that follows.",
        "kafka-go (nextGeneration)", connects_anew=True, rediscovers_each_rebalance=True),
    way("leaves-on-a-connection-of-its-own", "Says its LeaveGroup over a fresh connection.", "kafka-go (leaveGroup)", leaves_on_own_connection=True),
    way("leaves-before-it-joins-anew", "Leaves the group after a SyncGroup that failed, and joins again as a new member.", "kafka-go (run)", failed_rejoin="leaves"),
    way("syncs-again-in-its-generation", "Sends its SyncGroup again, in its generation, to a coordinator that was not there.", "franz-go (handleCoordinatorReq)",
        failed_sync="syncs"),
    way("holds-commits-while-joining", "Holds a commit until it has joined and sends it in the new generation; holds a join until a commit is answered.",
        "franz-go (noCommitDuringJoinAndSync)", commits_while_joining="held"),
    way("waits-long-for-sync", "Gives SyncGroup its rebalance timeout, however short its request timeout is.", "franz-go (connTimeouter)",
        sync_waits="rebalance"),
    way("commits-and-returns-nothing", "Tells its application nothing of a commit but what went wrong, by an error beside it.", "sarama (Commit, Errors)",
        commits_unreported=True),
    way("rejoins-after-a-failed-heartbeat", "Joins again, as the member it is, after a Heartbeat that was refused in a way it does not know.",
        "sarama, franz-go", overrides=(_GIVES_ITS_SESSION_UP,)),
    way("rejoins-after-any-failed-heartbeat", "Joins again, as the member it is, after any Heartbeat that was refused.", "kafka-go (heartbeatLoop)",
        overrides=(_GIVES_ITS_GENERATION_UP,)),
    way("tells-of-a-commit-at-once", "Fails a commit at the first refusal, and leaves it to the application to repeat it.", "kafka-go (CommitOffsets)",
        overrides=(_FAILS_AT_ONCE,)),
    way("joins-first-without-an-id-to-keep", "Speaks JoinGroup v2, whose first answer is the first word of its member id.", "kafka-go",
        versions={Api.JOIN_GROUP: 2}, lacks=frozenset({"static"})),
)  # fmt: skip

_CLIENTS: Final = (
    way("as-kafka-go", "Does all of kafka-go's ways at once.", "kafka-go 0.4.51 with its subscription fixed",
        connects_anew=True, rediscovers_each_rebalance=True, leaves_on_own_connection=True, failed_rejoin="leaves", own_settings=_CONSTANT,
        heartbeats="synced", joins_from="background", retry_factor=50.0, poll_deadline_factor=None, subscription_version=0, versions=_OLD,
        lacks=_NO_DEADLINE | {"static", "cooperative", "auto-commit", "commit-async", "resubscribe"},
        overrides=(*_ONCE_MORE, _GIVES_ITS_GENERATION_UP, _FAILS_AT_ONCE)),
    way("as-sarama", "Does all of sarama's ways at once, but those that lose a commit.", "sarama 1.61.1",
        heartbeats="synced", heartbeat_right_after_sync=True, joins_from="background", retry_factor=20.0, poll_deadline_factor=None, commits_unreported=True,
        own_settings=_CONSTANT, rediscovers_each_rebalance=True, lacks=_NO_DEADLINE | {"commit-async"},
        overrides=(*_ONCE_MORE, _GIVES_ITS_SESSION_UP, Override(api=Api.SYNC_GROUP, answers=(22,), effects=_DROPS_ID))),
    way("as-franz-go", "Does all of franz-go's ways at once.", "franz-go 1.22.2",
        lanes="joins", heartbeats="synced", joins_from="background", poll_deadline_factor=None, commits_while_joining="held", failed_sync="syncs",
        sync_waits="rebalance", lacks=_NO_DEADLINE, overrides=(*_ONCE_MORE, _GIVES_ITS_SESSION_UP)),
)  # fmt: skip

GO: Final = (*_WAYS, *_CLIENTS)
