"""A conftest for a run of two cases, one at a time: the second stops once its client has started, says so on the pipe that `HELD` names, and never goes on.

So a signal always meets a run that has reached one case and has a client in the other, however fast the machine is.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Final

import pytest
import trio

from groupproof.harness.model.case import Case
from groupproof.harness.running.plans.client_stage import Stage
from groupproof.harness.running.plans.member_control import Actor
from groupproof.harness.running.plans.retry_rhythm import MEASURING
from groupproof.harness.running.runs.client_run import ClientRun

__all__ = ["HELD"]

HELD: Final = "GROUPPROOF_TEST_HELD"
_stage_of = ClientRun._stage
_first: list[str] = []


async def _hold(case: Case, actor: Actor) -> None:
    if case.id in (*(measured.id for measured in MEASURING), *_first):
        return
    if not _first:
        _first.append(case.id)
        return
    os.write(int(os.environ[HELD]), b"held")
    await trio.sleep_forever()


def _held_stage(run: ClientRun) -> Stage:
    return replace(_stage_of(run), on_started=_hold)


if HELD in os.environ:
    pytest.MonkeyPatch().setattr(ClientRun, "_stage", _held_stage)
