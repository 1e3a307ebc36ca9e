"""What is impaired or broken is proven by receipts, and mended whatever happens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import trio
import trio.testing

from groupproof.coordinator.broker.reference_cluster import Cluster
from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.model.plan import BreakBroker, Impair
from groupproof.harness.running.plans.active_faults import Damage
from groupproof.harness.subjects.networks.impairments import Receipt
from groupproof.harness.subjects.networks.network import MemoryNetwork
from groupproof.harness.subjects.reference_control import DrivenReference
from groupproof.protocol.toxics import latency
from groupproof.protocol.trace import Recorder

BREAK, IMPAIR = BreakBroker(name="b", how="kill"), Impair(name="i", toxics=(latency(5, jitter_ms=1),), members=("m0",))


class Told(MemoryNetwork):
    """A network and machines that only say what they are told; `stays` can't be mended, `hangs` never are."""

    def __init__(self, *, stays: bool = False, hangs: bool = False) -> None:
        super().__init__()
        self.calls: list[object] = []
        self.stays, self.hangs = stays, hangs

    async def impair(self, step: Impair, receipt: Receipt) -> None:
        self.calls.append(step)
        receipt("delivered", kind="latency")

    async def mend(self, name: str) -> Mapping[str, Any]:
        if self.stays:
            raise BrokenEnvironment("it would not go")
        self.calls.append(name)
        return {"connections": 1}

    async def break_broker(self, node: int, how: str) -> None:
        self.calls.append((node, how))

    async def mend_broker(self, node: int) -> None:
        if self.hangs:
            await trio.sleep_forever()
        self.calls.append(node)


def stages(recorder: Recorder) -> list[tuple[str | None, str | None]]:
    return [(obs.fault, obs.detail) for obs in recorder.trace if obs.kind == "fault"]


async def damage(result: Told) -> tuple[Damage, Recorder]:
    recorder = Recorder(lambda: 0)
    cluster = DrivenReference(Cluster(recorder=recorder), result)
    made = Damage(cluster, result, recorder, group="g", mend_s=5)
    await made.impair(IMPAIR)
    await made.break_broker(BREAK)
    return made, recorder


def test_each_stage_leaves_a_receipt_and_mending_twice_is_no_error() -> None:
    async def main() -> None:
        made, recorder = await damage(result := Told())
        node = next(obs.body["node"] for obs in recorder.trace if obs.fault == "b")
        await made.mend("i")
        await made.mend("i")
        await made.mend_all()

        assert result.calls == [IMPAIR, (node, "kill"), "i", node]
        expected = [("i", "armed"), ("i", "delivered"), ("b", "triggered"), ("b", "delivered"), ("i", "healed"), ("b", "healed")]
        assert stages(recorder) == expected
        begun, healed = recorder.trace[0], recorder.trace[4]
        assert begun.body["toxics"] == [{"kind": "latency", "latency": 5, "jitter": 1}]
        assert healed.body == {"stage": "healed", "action": "impair", "connections": 1}

    trio.run(main)


def test_a_name_is_used_once_at_a_time() -> None:
    async def main() -> None:
        made, _ = await damage(Told())
        with pytest.raises(ValueError, match="'i' is impaired or broken already"):
            await made.impair(IMPAIR)
        await made.mend("i")
        await made.impair(IMPAIR)

    trio.run(main)


def test_what_would_not_go_keeps_nothing_else_from_being_mended() -> None:
    async def main() -> None:
        made, recorder = await damage(result := Told(stays=True))
        with pytest.raises(BrokenEnvironment, match="it would not go"):
            await made.mend_all()

        assert stages(recorder)[-1] == ("b", "healed")
        assert result.calls[-1] in (0, 1)
        await made.mend_all()

    trio.run(main)


def test_mending_has_its_time() -> None:
    async def main() -> None:
        made, recorder = await damage(Told(hangs=True))
        with pytest.raises(BrokenEnvironment, match="b could not be healed within 5 s"):
            await made.mend_all()

        assert stages(recorder)[-1] == ("i", "healed")

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
