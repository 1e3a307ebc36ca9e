"""Any history of a group of workers and a pair of Managers, drawn step by step: the laws hold at each, and after the healing all is well."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from groupproof.clients.relatives.datalink.placement import ASSIGNORS
from groupproof.clients.relatives.datalink.worker_outputs import WorkerState
from groupproof.clients.relatives.datalink.worker_settings import HAND_OVERS, HandOver
from groupproof.harness.relatives.datalink.simulated_group import SimulatedWorkers, WorkerRun

WHO = st.integers(0, 3)
HEALED_WITHIN_MS = 200_000


class Histories(RuleBasedStateMachine):
    """Four workers, whose tasks come and go."""

    world: SimulatedWorkers

    @initialize(seed=st.integers(0, 1_000), assignor=st.sampled_from(sorted(ASSIGNORS)), hand_over=st.sampled_from(HAND_OVERS), fences=st.booleans())
    def begin(self, seed: int, assignor: str, hand_over: HandOver, fences: bool) -> None:
        self.world = SimulatedWorkers(WorkerRun(seed=seed, workers=4, tasks=6, assignor=assignor, hand_over=hand_over, fences=fences))
        for worker in self.world.bays:
            worker.start()

    @rule(ms=st.sampled_from((1, 7, 120, 900, 3_500, 11_000, 45_000)))
    def time_passes(self, ms: int) -> None:
        self.world.heap.run(self.world.heap.now_ms + ms)

    @rule(who=WHO)
    def a_worker_dies(self, who: int) -> None:
        self.world.bays[who].kill()

    @rule(who=WHO)
    def a_worker_leaves(self, who: int) -> None:
        self.world.bays[who].leave()

    @rule(who=WHO)
    def a_worker_comes(self, who: int) -> None:
        self.world.bays[who].start()

    @rule(who=WHO, is_cut=st.booleans())
    def a_network_breaks_or_mends(self, who: int, is_cut: bool) -> None:
        self.world.bays[who].is_cut = is_cut

    @rule(who=WHO, is_stale=st.booleans())
    def a_worker_is_shown_old_configurations_or_today_s(self, who: int, is_stale: bool) -> None:
        self.world.bays[who].stale = self.world.board.configs("g") if is_stale else None

    @rule(ends=st.booleans(), without_ms=st.sampled_from((0, 500, 20_000)))
    def the_managers_switch(self, ends: bool, without_ms: int) -> None:
        self.world.managers.restore()
        if self.world.managers.active is not None:
            self.world.managers.switch(without_ms, ends=ends)

    @rule()
    def an_operator_forces_a_rebalance(self) -> None:
        self.world.managers.force("g")

    @rule()
    def a_task_comes(self) -> None:
        self.world.add_task()

    @rule(who=WHO)
    def a_task_goes(self, who: int) -> None:
        names = sorted(self.world.board.configs("g").tasks)
        if names:
            self.world.ledger.unwanted(names[who % len(names)], self.world.heap.now_ms)
            self.world.board.delete("g", names[who % len(names)])

    @rule(who=WHO)
    def a_task_changes(self, who: int) -> None:
        names = sorted(self.world.board.configs("g").tasks)
        if names:
            self.world.board.update("g", names[who % len(names)])

    @invariant()
    def workers_of_one_generation_of_the_active_manager_share_no_task(self) -> None:
        view = self.world.managers.view("g")
        if view is None:
            return
        members = {member.member_id for member in view.members}
        mine = [
            worker.worker for worker in self.world.bays
            if worker.is_up and worker.worker.state is WorkerState.STABLE and worker.worker.member_id in members and worker.worker.generation == view.generation
        ]  # fmt: skip
        running = [task for worker in mine for task in worker.running]
        assert len(running) == len(set(running)), f"generation {view.generation}: {sorted(running)}"

    @invariant()
    def a_worker_that_is_down_runs_nothing(self) -> None:
        down = {worker.name for worker in self.world.bays if not worker.is_up}
        runners = {worker for name in self.world.board.configs("g").tasks for worker in self.world.ledger.runners(name)}
        assert not down & runners

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        workers = self.world
        workers.managers.restore()
        for worker in workers.bays:
            worker.is_cut, worker.stale = False, None
            worker.start()
        until_ms = workers.heap.now_ms + HEALED_WITHIN_MS
        while workers.unsettled() and workers.heap.now_ms < until_ms:
            for worker in workers.bays:
                worker.start()
            workers.heap.run(workers.heap.now_ms + 1_000)
        assert workers.unsettled() == ""


Histories.TestCase.settings = settings(max_examples=25, stateful_step_count=25)
TestHistories = pytest.mark.requirement("WTASK-02", "PLAN-02", "MGR-01")(Histories.TestCase)


class LongHistories(Histories):
    """The same, longer and more of them."""


LongHistories.TestCase.settings = settings(max_examples=300, stateful_step_count=60)
TestLongHistories = pytest.mark.soak(LongHistories.TestCase)


def test_a_task_that_a_rebalance_stops_during_its_restart_is_started_once() -> None:
    state = Histories()
    state.begin(seed=0, assignor="resources", hand_over="stop-everything", fences=False)
    state.time_passes(ms=900)
    state.a_worker_dies(who=0)
    state.time_passes(ms=11_000)
    state.a_task_changes(who=1)
    state.teardown()

    assert state.world.ledger.runners("t1") == ("w1",)
