"""Reads frames of the consumer dialect as memberships: KIP-848's heartbeats only. Pure.

A refused commit ends no membership by itself (CGP-07).
"""

from __future__ import annotations

from typing import Final

from groupproof.harness.judging.checkers.steady import Steady
from groupproof.harness.judging.checkers.tracking.epoch_reader import EPOCH_NEWS, is_steady_epoch, read_epoch_answer, read_epoch_request
from groupproof.harness.judging.checkers.tracking.frame_reader import FrameReader
from groupproof.harness.judging.checkers.tracking.member_ledger import MemberLedger
from groupproof.protocol.rules.consumer.consumer_dialect import CONSUMER
from groupproof.protocol.rules.consumer.consumer_terms import ConsumerEvent
from groupproof.protocol.trace import Observation
from groupproof.protocol.vocabulary import Api

__all__ = ["CONSUMER_READER"]

_BEAT: Final = ConsumerEvent.HEARTBEAT.value
_COMMIT: Final = Api.OFFSET_COMMIT.title


def _asked(ledger: MemberLedger, obs: Observation, client: str) -> None:
    if obs.api == _BEAT:
        read_epoch_request(ledger, obs, client)


def _answered(ledger: MemberLedger, obs: Observation, client: str) -> None:
    if obs.api == _BEAT:
        read_epoch_answer(ledger, obs, client)


def _absorb(ledger: MemberLedger, steady: Steady) -> None:
    if (beats := steady.asked.get(_BEAT)) is not None:
        ledger.of(steady.client).beat_seq = beats.answer_seqs[-1]


CONSUMER_READER: Final = FrameReader(
    dialect=CONSUMER, apis=frozenset({_BEAT}), membership=frozenset({_BEAT}), naming=frozenset({_BEAT}), asked=_asked, answered=_answered,
    is_join=lambda obs: obs.member_epoch == 0, is_leave=lambda obs: (obs.member_epoch or 0) < 0,
    brings_id=lambda obs: obs.member_epoch == 0 and bool(obs.member), is_incremental=True,
    steady={_BEAT: EPOCH_NEWS, _COMMIT: frozenset({"group_instance_id"})}, by_epoch=frozenset({_BEAT}), is_steady=is_steady_epoch, absorb=_absorb,
)  # fmt: skip
