"""What a plan does to coordinators whose machines are nobody's here."""

from __future__ import annotations

import pytest
import trio

from groupproof.harness.model.errors import BrokenEnvironment
from groupproof.harness.subjects.cluster_control import NoMachines


def test_machines_that_are_not_the_kits_are_whole_and_can_not_be_broken() -> None:
    async def main() -> None:
        await NoMachines().mend_broker(0)
        with pytest.raises(BrokenEnvironment, match="broker 0 can't be broken here"):
            await NoMachines().break_broker(0, "kill")

    trio.run(main)
