"""Legal variants with their own timings: settings that an application cannot change, other backoffs and pauses, a process that starts slowly."""

from __future__ import annotations

from typing import Any, Final

from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.planted.member_variant import Variant, way
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import Api

__all__ = ["OF_EVERY_DIALECT", "OWN_TERMS"]

_NO_DEADLINE: Final = frozenset({"poll-deadline"})
_EAGER: Final = frozenset({"cooperative"})
_REJOINS_AS_IT_IS: Final = (Effect.DROP_GENERATION, Effect.LOSE, Effect.REJOIN)


def _own(name: str, says: str, text: str, *, lacks: frozenset[str] = frozenset(), policy: dict[str, Any] | None = None, **settings: Any) -> Variant:
    shared = {"assignors": settings["assignors"]} if "assignors" in settings else {}  # assignors that the other members of its group must offer too
    return Variant(name=name, says=says, policy=Policy(own_settings=settings, lacks=lacks, **(policy or {})), source=text, settings=shared)


_SETTINGS: Final = (
    _own("own-session-and-intervals", "Keeps a session of 10 s, a heartbeat interval of 3 s and a poll interval of 5 min, whatever `subscribe` says.",
         "java <= 2.8 by default", session_timeout_ms=10_000, heartbeat_interval_ms=3_000, max_poll_interval_ms=300_000),
    _own("own-long-session", "Keeps a session of 45 s and a heartbeat interval of 3 s.", "java >= 3.0 and franz-go by default",
         session_timeout_ms=45_000, heartbeat_interval_ms=3_000),
    _own("own-heartbeat-interval", "Sends a Heartbeat every 800 ms, whatever `subscribe` says.", "clients with a fixed timer", heartbeat_interval_ms=800),
    _own("own-heartbeat-interval-of-3s", "Sends a Heartbeat every 3 s, whatever `subscribe` says, and refuses a session that is not longer.",
         "java by default, behind a shim that passes only the session on", heartbeat_interval_ms=3_000),
    _own("own-poll-interval", "Lets its application take 5 min between two polls, whatever `subscribe` says.", "shims of clients that hide the setting",
         max_poll_interval_ms=300_000),
    _own("no-poll-deadline", "Has no deadline for polls: its heartbeats continue whatever its application does.", "sarama, kafka-go, franz-go",
         lacks=_NO_DEADLINE, policy={"poll_deadline_factor": None}),
    _own("own-request-timeout", "Waits 30 s for any answer, whatever `subscribe` says.", "sarama (Net.ReadTimeout), kafkajs", request_timeout_ms=30_000),
    _own("own-short-request-timeout", "Waits 5 s for any answer but JoinGroup's, whatever `subscribe` says.", "kafka-go", request_timeout_ms=5_000),
    _own("own-metadata-age", "Asks for metadata every 5 min.", "java by default", metadata_max_age_ms=300_000),
    _own("own-assignor", "Offers only roundrobin, whatever `subscribe` says.", "kafkajs", lacks=_EAGER,
         assignors=["roundrobin"]),
    _own("own-cooperative-assignor", "Offers only cooperative-sticky, whatever `subscribe` says.", "franz-go by default", lacks=_EAGER,
         assignors=["cooperative-sticky"]),
    _own("own-assignors", "Offers sticky and range, whatever `subscribe` says.", "clients with a fixed list", lacks=_EAGER,
         assignors=["sticky", "range"]),
    _own("own-commit-interval", "Commits every 5 s, whatever `subscribe` says.", "java by default", auto_commit_interval_ms=5_000),
    _own("own-poll-timeout", "Polls for a second at most, whatever `subscribe` says.", "push clients", poll_timeout_ms=1_000),
    _own("own-everything", "Keeps its own session, intervals, timeouts, metadata age and assignor.", "kafkajs behind a shim of few lines",
         lacks=_NO_DEADLINE | _EAGER, policy={"poll_deadline_factor": None}, session_timeout_ms=30_000, heartbeat_interval_ms=3_000, max_poll_interval_ms=60_000,
         request_timeout_ms=30_000, metadata_max_age_ms=300_000, assignors=["roundrobin"], auto_commit_interval_ms=5_000),
)  # fmt: skip

_CONSTANT: Final = {"properties": {"retry.backoff.max.ms": 100}}

_BACK_OFFS: Final = (
    *(
        way(
            f"backs-off-{seconds}s",
            f"Waits {seconds} s before it tries again what failed.",
            name,
            retry_factor=10.0 * seconds,
            own_settings=_CONSTANT,
        )
        for seconds, name in (
            (1, "java (retry.backoff.max.ms)"),
            (2, "sarama (Rebalance.Retry.Backoff)"),
            (5, "kafka-go (JoinGroupBackoff)"),
            (10, "librdkafka (reconnect.backoff.max.ms)"),
        )
    ),
)

_PAUSES: Final = (
    *(
        way(
            f"pauses-{seconds}s-before-rejoin",
            f"Waits {seconds} s before every JoinGroup of a rebalance.",
            name,
            rejoin_delay_ms=seconds * 1_000,
            immediate_rejoins_max=0,
        )
        for seconds, name in ((1, "kafkajs"), (2, "sarama"), (5, "kafka-go"), (8, "clients that drain their handlers first"))
    ),
)

_SHIMS: Final = (
    Variant(name="starts-in-10s", says="Takes 10 s from the start of its process to its hello.", policy=Policy(start_ms=10_000), source="JVM, ts-node, docker run"),
    Variant(name="lines-600ms-late", says="Tells everything 600 ms late.", policy=Policy(line_delay_ms=600), source="any shim on a busy machine"),
    Variant(name="lines-2s-late", says="Tells everything 2 s late.", policy=Policy(line_delay_ms=2_000), source="shims that buffer their stdout"),
)  # fmt: skip

_ONCE_MORE: Final = (
    way("heartbeats-between-generations",
        "Sends one more Heartbeat with its id and no generation, once it has given its generation up and before it joins again.",
        "java (HeartbeatThread), librdkafka 2.15.1", heartbeats_between=1),
    Variant(
        name="joins-once-more-as-refused",
        says="Joins once more with the id that a Heartbeat, SyncGroup or commit refused, and as a new member when JoinGroup refuses it too.",
        policy=Policy(
            overrides=(
                Override(api=Api.HEARTBEAT, answers=(25,), effects=_REJOINS_AS_IT_IS),
                Override(api=Api.SYNC_GROUP, answers=(25,), effects=_REJOINS_AS_IT_IS),
                Override(api=Api.OFFSET_COMMIT, answers=(25,), effects=(*_REJOINS_AS_IT_IS, Effect.FAIL)),
            )
        ),
        source="sarama, kafka-go, franz-go, ruby-kafka",
    ),
    Variant(
        name="heartbeats-from-poll-of-0.10.0",
        says="Sends its heartbeats from poll, and speaks the first versions: no rebalance timeout, no deadline for polls (before KIP-62).",
        policy=Policy(
            heartbeats="polled",
            poll_deadline_factor=None,
            lacks=_NO_DEADLINE,
            subscription_version=0,
            versions={Api.JOIN_GROUP: 0, Api.SYNC_GROUP: 0, Api.HEARTBEAT: 0, Api.LEAVE_GROUP: 0, Api.OFFSET_COMMIT: 2, Api.OFFSET_FETCH: 1},
        ),
        source="java 0.10.0",
    ),
)  # fmt: skip

OWN_TERMS: Final = (*_SETTINGS, *_BACK_OFFS, *_PAUSES, *_SHIMS, *_ONCE_MORE)

OF_EVERY_DIALECT: Final = (*_BACK_OFFS, *_SHIMS)
"""The variants that do not depend on the protocol: members of `consumer` back off too, and their shims are as slow."""
