"""What a plan has impaired or broken and not mended yet, with the receipts that prove it: none of it outlives the plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import BreakBroker, Impair
from groupproof.harness.subjects.cluster_control import DrivenCluster
from groupproof.harness.subjects.networks.impairments import Receipt
from groupproof.harness.subjects.networks.network import Network
from groupproof.protocol.toxics import toxic_to_json
from groupproof.protocol.trace import Recorder

__all__ = ["Damage"]


class Damage:
    """Receipts are observations of kind `fault` by the kit: armed, or of a broker triggered; delivered once it bit a connection, or the broker is broken;
    healed. A way on which nobody comes is armed and no more, like a fault on frames that never come.

    `group` is the one whose coordinator is meant where a step names no node. `BrokenEnvironment` says what can't be done here, or undone.
    """

    def __init__(self, cluster: DrivenCluster, network: Network, recorder: Recorder, *, group: str, mend_s: float) -> None:
        self._cluster = cluster
        self._network = network
        self._recorder = recorder
        self._group = group
        self._mend_s = mend_s
        self._done: dict[str, tuple[Impair | BreakBroker, int]] = {}

    async def impair(self, step: Impair) -> None:
        receipt = self._begin(step, -1)
        receipt("armed", toxics=[toxic_to_json(impairment) for impairment in step.toxics], members=list(step.members), nodes=list(step.nodes))
        await self._network.impair(step, receipt)

    async def break_broker(self, step: BreakBroker) -> None:
        node = await self._cluster.coordinator_of(self._group) if step.node is None else step.node
        receipt = self._begin(step, node)
        receipt("triggered", how=step.how, node=node)
        await self._cluster.break_broker(node, step.how)
        receipt("delivered", how=step.how, node=node)

    async def mend(self, name: str) -> None:
        """End what is called so; what has ended already is no error."""
        if name not in self._done:
            return
        step, node = self._done[name]
        body: Mapping[str, Any] = {"node": node}
        if isinstance(step, Impair):
            body = await self._network.mend(name)
        else:
            await self._cluster.mend_broker(node)
        del self._done[name]
        self._receipt(step)("healed", **body)

    async def mend_all(self) -> None:
        """Mend whatever is left, the newest first; what can't be undone is raised when all else is."""
        failed: list[BrokenEnvironment] = []
        for name in reversed(list(self._done)):
            try:
                with trio.fail_after(self._mend_s):
                    await self.mend(name)
            except trio.TooSlowError:
                failed.append(BrokenEnvironment(f"{name} could not be mended within {self._mend_s:.0f} s"))
            except BrokenEnvironment as error:
                failed.append(error)
            self._done.pop(name, None)
        if failed:
            raise failed[0]

    def _begin(self, step: Impair | BreakBroker, node: int) -> Receipt:
        if step.name in self._done:
            raise ValueError(f"{step.name!r} is impaired or broken already; each has a name of its own until it is mended")
        self._done[step.name] = step, node
        return self._receipt(step)

    def _receipt(self, step: Impair | BreakBroker) -> Receipt:
        def record(stage: str, **body: Any) -> None:
            self._recorder.record("fault", who="kit", fault=step.name, detail=stage, body={"stage": stage, "action": step.kind, **body})

        return record
