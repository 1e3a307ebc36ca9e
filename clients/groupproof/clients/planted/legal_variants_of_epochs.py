"""Members of the `consumer` protocol (KIP-848) that differ from the newest Java client and still follow the protocol."""

from __future__ import annotations

from typing import Any, Final

from groupproof.clients.member.epoch_policy import EpochPolicy
from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.planted.member_variant import Variant
from groupproof.protocol.rules.classic.member_reactions import Effect, Lapse
from groupproof.protocol.vocabulary import Api

__all__ = ["LEGAL_EPOCHS"]

_LIBRDKAFKA: Final = "librdkafka 2.16.0"
_FRANZ: Final = "franz-go 1.22"
_PERMITTED: Final = "no client that is known; the requirements leave it open"
_PLATFORMATIC: Final = "@platformatic/kafka 2.12"
BEAT, COMMIT = Api.CONSUMER_GROUP_HEARTBEAT, Api.OFFSET_COMMIT
REDISCOVER, BACK_OFF, SAY_ALL = Effect.REDISCOVER, Effect.BACK_OFF, Effect.SAY_ALL


def _legal(name: str, says: str, who: str, *overrides: Override, settings: dict[str, Any] | None = None, shared: dict[str, Any] | None = None,
           **choices: Any) -> Variant:  # fmt: skip
    policy = Policy(epochs=EpochPolicy(**choices), overrides=overrides, **(shared or {}))
    return Variant(name=f"epoch-{name}", says=says, policy=policy, source=who, settings=settings or {})


def _reaction(*answers: int | Lapse, do: tuple[Effect, ...], api: Api = BEAT) -> Override:
    return Override(api=api, answers=answers, effects=do)


LEGAL_EPOCHS: Final = (
    _legal("instance-id-at-the-ends", "Sends its instance id only with join and leave (CGC-03).", _LIBRDKAFKA, settings={"instance_id": "i0"},
           instance_id="join-and-leave"),
    _legal("empty-regex", "Sends an empty regular expression beside its names (CGC-22).", _LIBRDKAFKA, regex="empty"),
    _legal("no-answer-to-nothing", "Acknowledges no empty first assignment (CGC-21).", _LIBRDKAFKA, acknowledges_empty=False),
    _legal("partial-after-14", "Sends what changed after 14, not everything (CGC-20).", _LIBRDKAFKA, _reaction(14, do=(BACK_OFF,))),
    _legal("partial-after-29", "Sends what changed after 29, not everything (CGC-20).", _LIBRDKAFKA, _reaction(29, do=(Effect.REPORT,))),
    _legal("interval-after-lookup", "Heartbeats with the next interval once it has found its coordinator (CGT-13).", _LIBRDKAFKA,
           after_lookup="with-interval"),
    _legal("subscribes-at-once", "Says another subscription at once (CGC-30).", _LIBRDKAFKA, resubscribes="at-once"),
    _legal("tells-before-it-says", "Has its application give up what it subscribes to no more before it says so.", _PERMITTED, unsubscribed="calls-back-first"),
    _legal("tells-before-it-is-asked", "Has its application do so and says the new names at once, before it is asked (CGC-30).", _PERMITTED,
           unsubscribed="calls-back-first", resubscribes="at-once"),
    _legal("gives-up-unasked", "Says with another subscription that it owns less, and waits for no order (CGR-13).", _PERMITTED, unsubscribed="given-up-first"),
    _legal("no-revoked-callback", "Has no callback for revoked partitions, and reports them right before the next assignment.", _PERMITTED,
           tells_revoked="before-assigned", calls_with_nothing=False, shared={"lacks": frozenset({"on-revoked"})}),
    _legal("asks-what-it-owns", "Has no callbacks: its program asks after each poll what it owns, and learns nothing of a rejoin within one poll.",
           "kacrab 0.4.0", reconciles_from="background", shared={"assignment_reported": "asked", "lacks": frozenset({"on-revoked"})}),
    _legal("ends-at-a-refused-fetch", "Ends when its positions are refused, for a while or for good, and reports it to its application.", "kafrust 0.5.0",
           _reaction(14, 15, 16, do=(Effect.FAIL, Effect.RAISE), api=Api.OFFSET_FETCH)),
    _legal("looks-up-at-every-broker", "Asks all of its bootstrap brokers for the coordinator at once.", "no-kafka 3.4.3, a classic client",
           shared={"lookups_go_to": "each"}),
    _legal("repeats-one-correlation-id", "Sends correlation id 0 with every request, over one connection to each broker.", "pykafka 2.8.0, a classic client",
           shared={"repeats_correlations": True, "lanes": "shared"}),
    _legal("releases-before-it-leaves", "Says that it owns nothing any more, and leaves when that is answered.", _PERMITTED, releases_before_leave=True),
    _legal("fatal-commits", "Ends at a commit that is not authorised, or whose group is gone, and reports it to its application.", _PERMITTED,
           _reaction(30, 69, do=(Effect.FAIL, Effect.RAISE), api=COMMIT)),
    _legal("ends-without-positions", "Ends when it gets no positions for as long as its client tries, and reports it to its application.", _PERMITTED,
           overdue_fetch="fatal"),
    _legal("retries-on-111", "Tries in silence, with a pause, to be let in for an instance that another has (CGT-27).", _PERMITTED,
           _reaction(111, do=(BACK_OFF, SAY_ALL))),
    _legal("joins-on-69", "Loses its partitions and joins again as a new member when its group is gone (CGT-29).", _PERMITTED,
           _reaction(69, do=(Effect.LOSE, Effect.REJOIN, BACK_OFF))),
    _legal("fetches-as-nobody", "Fetches offsets without its id and epoch (CGP-03).", _LIBRDKAFKA, fetches_as="nobody"),
    _legal("commits-what-goes", "Commits only the revoked positions before a revocation.", _LIBRDKAFKA, commits_before_revoke="revoked"),
    _legal("bare-callbacks", "Calls assigned only where something is new (CGT-10, CGT-11).", _LIBRDKAFKA, calls_with_nothing=False),
    _legal("leaves-with-the-next-poll", "Falls silent for want of polls, and leaves when it is polled again (CGV-18).", _LIBRDKAFKA, poll_end="next-poll"),
    _legal("full-leave", "Sends empty names and partitions with its leave.", "java 4.4.0", leave_fields="empty"),
    _legal("always-full", "Sends every field with every heartbeat (CGC-12).", _FRANZ, full="always"),
    _legal("owned-always", "Reports what it owns with every heartbeat.", _PLATFORMATIC, owned="always"),
    _legal("names-always", "Says its names with every heartbeat.", _PLATFORMATIC, names="always"),
    _legal("names-reversed", "Lists its topics in an order of its own.", _FRANZ, names="reversed"),
    _legal("background", "Revokes and assigns whether or not the application polls (CGT-34).", _FRANZ, reconciles_from="background"),
    _legal("acknowledges-with-interval", "Acknowledges with the next heartbeat that is due (CGC-29).", _PLATFORMATIC, acknowledges="with-interval"),
    _legal("joins-after-a-pause", "Waits for retry.backoff.ms before it joins again (CGT-21).", _FRANZ, join_backoff=True),
    _legal("slightly-early", "Heartbeats a little earlier than it was asked to.", _FRANZ, interval_factor=0.95),
    # Brokers refuse such intervals by default: group.consumer.min.heartbeat.interval.ms is five seconds.
    _legal("a-second-at-least", "Heartbeats once a second at most, whatever it is asked for.", "krafka 0.28.1", interval_min_ms=1_000),
    _legal("rejoins-on-22", "Reports an error of a commit and continues (CGT-12).", "java 4.4.0", _reaction(22, do=(Effect.FAIL,), api=COMMIT)),
    _legal("stays-when-told-to", "Leaves although it is configured to stay, as a dynamic member (CGV-05).", "java 4.1.1 to 4.4.0", leaves_when_told_to_stay=True),
    _legal("no-member-id-in-v0", "Speaks version 0, in which the broker names it.", "java 3.7", shared={"versions": {BEAT: 0}, "lacks": frozenset({"regex"})}),
    _legal("commits-each-batch", "Commits after each batch of records, whatever the interval.", "kafkajs 2.2.4", settings={"auto_commit": True},
           shared={"commits_each_batch": True}),
    _legal("polls-slowly", "Lets 50 ms pass between two polls.", "any application that works on its records", shared={"poll_pause_ms": 50}),
    _legal("retries-at-leisure", "Waits longer between its tries.", _PLATFORMATIC, shared={"retry_factor": 3.0}),
)  # fmt: skip
