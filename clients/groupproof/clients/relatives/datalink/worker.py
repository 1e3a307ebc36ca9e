"""The DataLink worker as a pure machine: its states, requests and tasks (catalogue D.6, E.3; seed 001, WorkerKeeper at dd8d26a).

Its inputs are time (`now_ms`) and answers (messages). Its results are `Output`s. The driver performs them in order, calls `tick`
when `next_deadline_ms` is reached, and passes the database's configurations to `polled`. As in WorkerKeeper, one thread ticks every
500 ms and blocks during a join, and another sends heartbeats. A heartbeat's answer takes effect at the next tick.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from groupproof.clients.member.pending_requests import RequestInFlight, earliest
from groupproof.clients.relatives.datalink.error_reactions import reaction
from groupproof.clients.relatives.datalink.manager_lookup import Lookup
from groupproof.clients.relatives.datalink.manager_session import ManagerSession
from groupproof.clients.relatives.datalink.task_assignment import Leading
from groupproof.clients.relatives.datalink.tasks import Configs
from groupproof.clients.relatives.datalink.worker_outputs import LeaveResult, Output, RefreshConfigs, WorkerDown, WorkerState
from groupproof.clients.relatives.datalink.worker_requests import NO_GENERATION, Requester
from groupproof.clients.relatives.datalink.worker_settings import WorkerSettings
from groupproof.clients.relatives.datalink.worker_stages import BEATING, ENDED, REFRESHING, SYNCING, Stage
from groupproof.clients.relatives.datalink.worker_tasks import WorkerTasks
from groupproof.protocol.relatives.datalink_messages import BlobError, TaskAssignment, decode_assigned
from groupproof.protocol.rules.classic.member_reactions import Answer, Lapse
from groupproof.protocol.vocabulary import Api, ErrorCode, error_named
from groupproof.protocol.wire.messages import (
    FindCoordinatorResponse,
    GroupResponse,
    JoinGroupResponse,
    SyncAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from random import Random

__all__ = ["Worker"]

_HEARD: Final = (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)


class Worker:
    """One worker. Every input returns the outputs to perform. `random` shuffles the tasks that it assigns as leader."""

    def __init__(self, settings: WorkerSettings, *, random: Random) -> None:
        self.settings = settings
        self.assigned: TaskAssignment | None = None
        self._requester = Requester(settings)
        self._tasks = WorkerTasks(self._requester.out)
        self._leading = Leading(settings, random)
        self._stage = Stage.DOWN
        self._rejoins = self._was_reset = self._is_in_loop = False
        self._attempt: int | None = None
        self._lookup = Lookup(settings, self._requester)
        self._session = ManagerSession(settings, self._requester)
        self._next_tick_ms = self._not_before_ms = 0
        self._refresh_ends_ms: int | None = None

    @property
    def state(self) -> WorkerState:
        """The worker's state, derived from its other fields (WORKER-01)."""
        if self._stage in ENDED:
            return WorkerState.DOWN
        if self._stage is Stage.JOINING:
            return WorkerState.JOINING
        if self._stage in SYNCING:
            return WorkerState.SYNCING
        is_settled = self._stage is Stage.IDLE and self._requester.generation != NO_GENERATION and not self._rejoins and self.assigned is not None
        return WorkerState.STABLE if is_settled else WorkerState.PREPARING_JOIN

    @property
    def member_id(self) -> str:
        return self._requester.member_id

    @property
    def generation(self) -> int:
        return self._requester.generation

    @property
    def running(self) -> frozenset[str]:
        """The names of the tasks that run here."""
        return frozenset(self._tasks.running)

    @property
    def configs(self) -> Configs:
        """The configurations in use."""
        return self._tasks.configs

    # Inputs

    def start(self, configs: Configs, now_ms: int) -> list[Output]:
        """Start. The first tick joins (WORKER-03, WORKER-04)."""
        self._tasks.configs = self._tasks.newest = configs
        self._stage, self._rejoins, self._next_tick_ms = Stage.IDLE, True, now_ms
        return self._requester.collected()

    def tick(self, now_ms: int) -> list[Output]:
        """Run what is due: time out requests, send heartbeats, run the ticking thread."""
        for pending in self._requester.requests.overdue(now_ms):
            self._take(pending, Lapse.TIMED_OUT, None, now_ms)
        if self._refresh_ends_ms is not None and now_ms >= self._refresh_ends_ms:
            self._give_up_on_configs(now_ms)
        if self._is_beating() and self._session.is_session_over(now_ms):
            self._session_over()
        if self._is_beating():
            self._session.beat_if_due(now_ms)
        if self._is_in_loop:
            self._go_on(now_ms)
        elif now_ms >= self._next_tick_ms and self._stage is Stage.IDLE:
            self._go_round(now_ms)
        return self._requester.collected()

    def response(self, request_id: int, message: GroupResponse, now_ms: int) -> list[Output]:
        """Handle an answer. Ignore it if its request is no longer in flight."""
        pending = self._requester.requests.take(request_id)
        if pending is not None:
            codes = [coordinator.error_code for coordinator in message.coordinators] if isinstance(message, FindCoordinatorResponse) else []
            self._take(pending, next(iter(codes), getattr(message, "error_code", 0)), message, now_ms)
        return self._requester.collected()

    def unanswered(self, request_id: int, now_ms: int) -> list[Output]:
        """Handle a request whose connection was lost before the answer came."""
        pending = self._requester.requests.take(request_id)
        if pending is not None:
            self._take(pending, Lapse.DISCONNECTED, None, now_ms)
        return self._requester.collected()

    def polled(self, configs: Configs) -> list[Output]:
        """Store the database's configurations. The next tick checks them."""
        self._tasks.newest = configs
        return self._requester.collected()

    def refreshed(self, configs: Configs, now_ms: int) -> list[Output]:
        """Use the configurations that `RefreshConfigs` requested."""
        if self._stage in REFRESHING:
            self._tasks.configs = self._tasks.newest = configs
            self._refresh_ends_ms = None
            if self._stage is Stage.LEADING:
                self._assign(now_ms)
            else:
                self._resolve(now_ms)
        return self._requester.collected()

    def stopped(self, now_ms: int) -> list[Output]:
        """Continue after the stopped tasks have ended."""
        self._tasks.stopped()
        stage = self._stage
        if stage is Stage.STOPPING:
            self._stage = Stage.IDLE
            self._go_on(now_ms)
        elif stage is Stage.GIVING_AWAY:
            self._start_tasks(now_ms, gave_away=True)
        elif stage is Stage.CLOSING and not self._tasks.stop(self._tasks.running):
            self._leave(now_ms)
        return self._requester.collected()

    def measured(self, traffic: Mapping[str, float]) -> None:
        """Store the measured costs of the tasks that run here. The next JoinGroup reports them to the leader (PLAN-01)."""
        self._tasks.traffic = dict(traffic)

    def close(self, now_ms: int) -> list[Output]:
        """Stop the tasks and leave the group. This ends in `LeaveResult`."""
        if self._stage is not Stage.DOWN:
            self._attempt = self._refresh_ends_ms = None
            self._stage = Stage.CLOSING
            if not self._tasks.stopping and not self._tasks.stop(self._tasks.running):
                self._leave(now_ms)
        return self._requester.collected()

    def next_deadline_ms(self) -> int | None:
        """Return when `tick` has something to do, or None."""
        session_ms = self._session.next_ms() if self._is_beating() else None
        is_free = self._stage is Stage.IDLE
        loop_ms = self._not_before_ms if self._is_in_loop and is_free and not self._lookup.is_under_way else None
        tick_ms = self._next_tick_ms if is_free and not self._is_in_loop else None
        return earliest(self._requester.requests.next_deadline_ms(), session_ms, self._refresh_ends_ms, loop_ms, tick_ms)

    # The ticking thread

    def _go_round(self, now_ms: int) -> None:
        """Run one tick: join if that is necessary, otherwise check the configurations (WorkerKeeper.tick)."""
        self._next_tick_ms = now_ms + self.settings.tick_ms
        if self._rejoins or self._requester.coordinator is None:
            self._is_in_loop = True
            self._go_on(now_ms)
        elif self._tasks.newest is not self._tasks.configs:
            self._reconfigure()

    def _reconfigure(self) -> None:
        """Join again if tasks were added or deleted. Otherwise restart only changed tasks (WORKER-08, WTASK-08)."""
        tasks = self._tasks
        is_same = tasks.configs.tasks.keys() == tasks.newest.tasks.keys()
        tasks.configs = tasks.newest
        if is_same:
            tasks.restart_changed()
        else:
            self._rejoins = True

    def _go_on(self, now_ms: int) -> None:
        """Take the next step towards a membership, or end the loop if there is one."""
        if self._stage is not Stage.IDLE or self._lookup.is_under_way or now_ms < self._not_before_ms:
            return
        if self._requester.coordinator is None:
            self._lookup.seek(now_ms)
        elif self._rejoins:
            self._prepare(now_ms)
        else:
            self._is_in_loop = False
            self._next_tick_ms = now_ms + self.settings.tick_ms

    def _prepare(self, now_ms: int) -> None:
        """Stop the tasks before JoinGroup (WORKER-14). An incremental hand-over stops only tasks that may have another owner or no longer exist."""
        is_all = self.settings.hand_over == "stop-everything" or self._was_reset
        self._was_reset = False
        running = self._tasks.running
        names = running if is_all else [name for name in running if name not in self._tasks.configs.tasks]
        if not self._stop(names, Stage.STOPPING):
            self._join(now_ms)

    def _stop(self, names: Iterable[str], stage: Stage) -> bool:
        """Stop tasks and enter `stage` meanwhile. Return whether there is anything to wait for."""
        is_waiting = self._tasks.stop(names)
        self._stage = stage if is_waiting else self._stage
        return is_waiting

    def _join(self, now_ms: int) -> None:
        self._tasks.configs = self._tasks.newest
        self._stage = Stage.JOINING
        self._session.forget()
        self._attempt = self._requester.send(self._requester.join_request(self._tasks.status(self.settings, self._requester.generation)), now_ms)

    # Answers

    def _take(self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None, now_ms: int) -> None:
        api = pending.message.api
        if api is Api.FIND_COORDINATOR:
            self._looked_up(pending, answer, response, now_ms)
        elif api is Api.HEARTBEAT:
            self._beaten(pending, answer, now_ms)
        elif api is Api.LEAVE_GROUP:
            self._left()
        elif pending.request_id == self._attempt:
            self._attempt = None
            if isinstance(response, JoinGroupResponse) and answer == 0:
                self._joined(response, now_ms)
            elif isinstance(response, SyncGroupResponse) and answer == 0:
                self._synced(response, now_ms)
            else:
                self._stage = Stage.IDLE
                self._react(api, answer, now_ms)
                self._go_on(now_ms)

    def _looked_up(self, pending: RequestInFlight, answer: Answer, response: GroupResponse | None, now_ms: int) -> None:
        if self._lookup.has_found(pending, answer, response):
            self._session.heard(now_ms)
            self._go_on(now_ms)
        else:
            self._not_before_ms = now_ms + self.settings.retry_backoff_ms

    def _beaten(self, pending: RequestInFlight, answer: Answer, now_ms: int) -> None:
        """Handle a heartbeat's answer. Its consequences follow at the next tick (WORKER-07, WORKER-18)."""
        if self._session.is_mine(pending.request_id):
            if answer in _HEARD:
                self._session.heard(now_ms)
            self._react(Api.HEARTBEAT, answer, now_ms)

    def _react(self, api: Api, answer: Answer, now_ms: int) -> None:
        """Apply the reaction from the table of special errors."""
        next_step = reaction(api, answer)
        if next_step.fails:
            self._fail(f"{api.title} was answered {answer if isinstance(answer, Lapse) else error_named(answer)}")
            return
        if next_step.resets:
            self._reset()
        if next_step.rediscovers:
            self._forget_coordinator()
        if next_step.backs_off:
            self._not_before_ms = now_ms + self.settings.retry_backoff_ms
        self._rejoins = self._rejoins or next_step.rejoins

    def _reset(self) -> None:
        """Forget member id and generation. Other workers may have the tasks that run here (WORKER-11)."""
        self._requester.forget_membership()
        self._was_reset = True

    def _forget_coordinator(self) -> None:
        self._requester.forget_coordinator()
        self._session.forget()

    def _session_over(self) -> None:
        """Handle a session timeout without an answer (WORKER-18): look the coordinator up and join. With `fences`, also stop the tasks."""
        self._session.end_session()
        self._was_reset = self._was_reset or self.settings.fences
        self._rejoins = True
        self._forget_coordinator()
        if self.settings.fences and self._stage is Stage.IDLE:
            self._is_in_loop = True
            self._stop(self._tasks.running, Stage.STOPPING)

    # Joined, synced

    def _joined(self, response: JoinGroupResponse, now_ms: int) -> None:
        """Store the membership and send SyncGroup. The leader's has every member's assignment (WORKER-16)."""
        self._requester.member_id, self._requester.generation = response.member_id, response.generation_id
        self._rejoins = False
        if response.leader != response.member_id:
            self._sync((), now_ms)
            return
        try:
            self._leading.joined(response.members)
        except BlobError as error:
            self._fail(f"the group cannot be led: {error}")
            return
        if self._tasks.configs.version < self._leading.newest_version:
            self._refresh(Stage.LEADING, now_ms)
        else:
            self._assign(now_ms)

    def _assign(self, now_ms: int) -> None:
        self._sync(self._leading.assignments(self.member_id, self._tasks.configs), now_ms)

    def _sync(self, assignments: tuple[SyncAssignment, ...], now_ms: int) -> None:
        self._stage = Stage.SYNCING
        request = SyncGroupRequest(group_id=self.settings.group, generation_id=self.generation, member_id=self.member_id, assignments=assignments)
        self._attempt = self._requester.send(request, now_ms)

    def _synced(self, response: SyncGroupResponse, now_ms: int) -> None:
        try:
            self.assigned = decode_assigned(response.assignment)
        except BlobError as error:
            self._fail(str(error))
            return
        self._session.settled(now_ms)
        if self._tasks.configs.version < self.assigned.config_version or (self.assigned.has_failed and self.assigned.leader == self.member_id):
            self._refresh(Stage.CATCHING_UP, now_ms)
        else:
            self._resolve(now_ms)

    def _refresh(self, stage: Stage, now_ms: int) -> None:
        self._stage = stage
        self._refresh_ends_ms = now_ms + self.settings.worker_sync_timeout_ms
        self._requester.out.append(RefreshConfigs())

    def _resolve(self, now_ms: int) -> None:
        """Apply the assignment, or join again if it failed or was made from other configurations (WTASK-06, WTASK-07)."""
        assigned = self.assigned
        assert assigned is not None, "there is an assignment"
        self._stage = Stage.IDLE
        if self._was_reset or assigned.has_failed or assigned.config_version != self._tasks.configs.version:
            self._rejoins = True
            self._not_before_ms = now_ms + self.settings.retry_backoff_ms
            return
        self._tasks.held = assigned.tasks
        if not self._stop(self._tasks.running.keys() - set(assigned.tasks), Stage.GIVING_AWAY):
            self._start_tasks(now_ms, gave_away=False)

    def _start_tasks(self, now_ms: int, *, gave_away: bool) -> None:
        """Start the assigned tasks that do not run (WORKER-17). While a hand-over is under way, every worker joins again at once."""
        assert self.assigned is not None, "there is an assignment"
        self._stage = Stage.IDLE
        if not self._was_reset:  # otherwise a heartbeat's answer has made the assignment void
            self._tasks.restart_changed()
            self._tasks.start(self.assigned.tasks)
        self._rejoins = self._rejoins or gave_away or self.assigned.is_partial
        self._go_on(now_ms)

    def _give_up_on_configs(self, now_ms: int) -> None:
        """Leave and stay out for a while, because the configurations did not come in time (worker.sync.timeout.ms, worker.unsync.backoff.ms)."""
        self._refresh_ends_ms = None
        self._requester.send_leave(now_ms)
        self._reset()
        self._stage, self._rejoins = Stage.IDLE, True
        self._stop(self._tasks.running, Stage.STOPPING)
        self._not_before_ms = now_ms + self.settings.worker_unsync_backoff_ms

    # Internals

    def _is_beating(self) -> bool:
        """Return whether the heartbeat thread is enabled. It is disabled while the worker joins or syncs (WORKER-19)."""
        return self._stage in BEATING and self._session.can_beat()

    def _leave(self, now_ms: int) -> None:
        self._stage = Stage.LEAVING
        if not self._requester.send_leave(now_ms):
            self._left()

    def _left(self) -> None:
        if self._stage is Stage.LEAVING:
            self._stage = Stage.DOWN
            self._requester.out.append(LeaveResult())

    def _fail(self, message: str) -> None:
        self._requester.out.append(WorkerDown(message=message))
        self._tasks.stop(self._tasks.running)
        self._stage = Stage.DOWN
