"""The active impairments and broken brokers of a plan, with the receipts that prove them. All are mended when the plan ends."""

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
    """Injects and mends faults. Each stage is a receipt, an observation of kind `fault` by the kit: armed (of a broker: triggered), delivered when
    it acted on a connection or the broker is broken, and healed. A fault on a link without connections stays armed, like one on frames that never
    come.

    A step without a node means the coordinator of `group`. Raise `BrokenEnvironment` where a fault cannot be injected or mended here.
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
        """Mend the fault of this name. A fault that has already ended is no error."""
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
        """Mend all faults, the newest first; raise the first failure after all have been tried."""
        failed: list[BrokenEnvironment] = []
        for name in reversed(list(self._done)):
            try:
                with trio.fail_after(self._mend_s):
                    await self.mend(name)
            except trio.TooSlowError:
                failed.append(BrokenEnvironment(f"{name} could not be healed within {self._mend_s:.0f} s"))
            except BrokenEnvironment as error:
                failed.append(error)
            self._done.pop(name, None)
        if failed:
            raise failed[0]

    def _begin(self, step: Impair | BreakBroker, node: int) -> Receipt:
        if step.name in self._done:
            raise ValueError(f"{step.name!r} is impaired or broken already; each needs its own name until it is healed")
        self._done[step.name] = step, node
        return self._receipt(step)

    def _receipt(self, step: Impair | BreakBroker) -> Receipt:
        def record(stage: str, **body: Any) -> None:
            self._recorder.record("fault", who="kit", fault=step.name, detail=stage, body={"stage": stage, "action": step.kind, **body})

        return record
