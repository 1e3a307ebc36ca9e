"""The rule machine by which Hypothesis writes histories: what members, strangers, time and misfortune may do in a duel, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from tests.stateful.duel import ELSEWHERE, LOADING, Duel
from tests.stateful.history import DISKS, INSTANCES, OFFERS, REBALANCES_MS, SESSIONS_MS, STRANGER, WAITS_MS, History
from tests.stateful.naive_phases import Release

from groupproof.coordinator.machine.variant import REFERENCE, Variant
from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["AnyHistory"]

WHO = st.integers(0, 4)
HOW = st.integers(0, 5)
OFF = st.sampled_from((0, 0, 0, 0, -1, 1))
ODDITIES = ("type", "type", "no-group", "not-here", "not-here", "starting")
QUESTIONS = ("fetch", "fetch-stable", "describe", "list")
MISFORTUNES = ("move", "move", "clean-up", "delete", "disk", "disk", "disk")
RETENTION_MS = 604_800_000


def index_of(options: Sequence[object]) -> st.SearchStrategy[int]:
    """Draw a place in `options`, half of the time the first."""
    return st.sampled_from((*[0] * len(options), *range(len(options))))


class AnyHistory(RuleBasedStateMachine):
    """One coordinator's life; `variant` is planted in the machine."""

    variant: Variant = REFERENCE
    release: Release = (4, 1)

    @initialize(
        delay_ms=st.sampled_from((0, 3_000)), size_max=st.sampled_from((1_000, 1_000, 2)), protocol_type=st.sampled_from(("tck", "consumer")),
        is_loading=st.booleans(),
    )  # fmt: skip
    def begin(self, delay_ms: int, size_max: int, protocol_type: str, is_loading: bool) -> None:
        self.is_loading = is_loading
        size_max = size_max if self.release >= (2, 8) else 1_000  # until 2.7 whom a full group turned away it forgot whose the instance was
        self.duel = Duel(self.variant, self.release, is_loading=is_loading, group_initial_rebalance_delay_ms=delay_ms, group_max_size=size_max)
        self.history = History(self.duel, protocol_type)

    @rule(
        instance=st.sampled_from((None, *INSTANCES)), version=st.sampled_from((3, 4, 8, 9)), offer=index_of(OFFERS),
        session=index_of(SESSIONS_MS), rebalance=index_of(REBALANCES_MS),
    )  # fmt: skip
    def comes(self, instance: str | None, version: int, offer: int, session: int, rebalance: int) -> None:
        instance = instance if self.release >= (2, 3) else None
        self.history.join(instance=instance, version=version, offer=offer, session=session, rebalance=rebalance)

    @rule(who=WHO, how=HOW, version=st.sampled_from((5, 9)), offer=index_of(OFFERS), rebalance=index_of(REBALANCES_MS))
    def joins_again(self, who: int, how: int, version: int, offer: int, rebalance: int) -> None:
        member_id = self.history.one(who)
        self.history.join(member_id, instance=self.history.instance_of(member_id, how), version=version, offer=offer, rebalance=rebalance)

    @rule(newcomers=st.integers(0, 2), rebalance=index_of(REBALANCES_MS))
    def gather(self, newcomers: int, rebalance: int) -> None:
        self.history.gather(newcomers=newcomers, rebalance=rebalance)

    @rule(newcomers=st.integers(0, 2), but=st.sampled_from((0, 0, 1)))
    def settle(self, newcomers: int, but: int) -> None:
        self.history.gather(newcomers=newcomers)
        self.history.sync_all(but=but)

    @rule(newcomers=st.integers(1, 3))
    def settle_wholly(self, newcomers: int) -> None:
        self.settle(newcomers, 0)

    @rule(who=WHO, how=HOW, off=OFF, left_out=st.integers(0, 1), naming=st.sampled_from((0, 0, 0, 1, 2, 3, 4)))
    def syncs(self, who: int, how: int, off: int, left_out: int, naming: int) -> None:
        member_id = self.history.one(who)
        self.history.sync(member_id, off=off, instance=self.history.instance_of(member_id, how), left_out=left_out, naming=naming)

    @rule(who=WHO, how=HOW, off=OFF)
    def beats(self, who: int, how: int, off: int) -> None:
        member_id = self.history.one(who)
        self.history.heartbeat(member_id, off=off, instance=self.history.instance_of(member_id, how))

    @rule(entries=st.lists(st.tuples(WHO, HOW, st.booleans()), min_size=1, max_size=2))
    def leave(self, entries: list[tuple[int, int, bool]]) -> None:
        named = [(self.history.one(who), how, by_id) for who, how, by_id in entries]
        self.history.leave(*((name if by_id else "", self.history.instance_of(name, how)) for name, how, by_id in named))

    @rule(
        who=WHO, how=HOW, off=st.sampled_from((0, 0, 0, -1, 1, None)), version=st.sampled_from((8, 9)), offset=st.integers(0, 3), long=st.booleans()
    )
    def commits(self, who: int, how: int, off: int | None, version: int, offset: int, long: bool) -> None:
        member_id = self.history.one(who)
        self.history.commit(member_id, off=off, instance=self.history.instance_of(member_id, how), version=version, offset=offset, long=long)

    @rule(who=WHO, how=HOW, off=st.sampled_from((0, 0, None, -1)), producer=st.integers(1, 2), long=st.booleans())
    def commits_in_a_transaction(self, who: int, how: int, off: int | None, producer: int, long: bool) -> None:
        member_id = self.history.one(who) or STRANGER
        self.history.commit_in_transaction(member_id, producer, off=off, instance=self.history.instance_of(member_id, how), long=long)

    @rule(producer=st.integers(1, 2), is_committed=st.booleans())
    def ends_its_transaction(self, producer: int, is_committed: bool) -> None:
        self.duel.end_transaction(producer, is_committed=is_committed)
        self.history.fetch()

    @rule(kind=st.sampled_from(QUESTIONS), which=st.integers(0, 5))
    def is_asked(self, kind: str, which: int) -> None:
        if kind == "describe":
            self.history.describe((5, 6)[which % 2])
        elif kind == "list":
            self.history.listing(which)
        else:
            self.history.fetch(everything=which % 2 == 1, stable=kind == "fetch-stable" and self.release >= (2, 5))

    @rule(which=st.integers(0, 19))
    def loses_offsets(self, which: int) -> None:
        if self.release >= (2, 4):
            self.history.delete_offsets(which)

    @rule(ms=index_of(WAITS_MS), off=st.sampled_from((None, None, -1, 0, 1)))
    def waits(self, ms: int, off: int | None) -> None:
        """Let some time pass, or all that is left to the next deadline, give or take a millisecond."""
        due_ms = self.duel.next_ms()
        self.duel.wait(WAITS_MS[ms] if off is None or due_ms is None else max(due_ms - self.duel.now_ms + off, 0))

    @rule(kind=st.sampled_from(ODDITIES), which=st.integers(0, 39))
    def oddly(self, kind: str, which: int) -> None:
        history = self.history
        if kind == "type":
            history.join(protocol_type=("connect", "")[which % 2], version=3, group=("g", "g", "h", "")[which % 4])
        elif kind == "no-group":
            history.commit("", off=None, group=("g", "h")[which % 2])
        else:
            self.duel.activate(is_active=kind != "starting")
            for api in range(which, which + 3):  # one alone was so rare that a thousand histories missed it
                history.ask_about(("", ELSEWHERE, LOADING if self.is_loading else "g", "g")[which // 10], api)
            self.duel.activate(is_active=True)

    @rule(kind=st.sampled_from(MISFORTUNES), which=st.integers(0, 7))
    def misfortune(self, kind: str, which: int) -> None:
        if kind == "move":
            self.duel.move()
        elif kind == "clean-up":
            self.duel.wait((0, RETENTION_MS)[which % 2])
            self.duel.clean_up()
        elif kind == "delete":
            self.history.delete()
        else:
            self._while_the_disk_is_broken(which)

    def _while_the_disk_is_broken(self, which: int) -> None:
        self.duel.break_disk(DISKS[which % len(DISKS)])
        acts = (
            self.history.sync_all,
            partial(self.history.join, instance="a" if self.release >= (2, 3) else None),
            partial(self.history.commit, self.history.one(0)),
        )
        acts[which % len(acts)]()
        self.duel.break_disk(ErrorCode.NONE)
