"""What the stories of groups that keep still have in common, whatever protocol their members speak."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.traces import Story

from groupproof.protocol.trace import Observation

__all__ = ["EVERY_MS", "TIMES", "StillStory"]

TIMES, EVERY_MS = st.integers(1, 30), st.sampled_from([0, 3, 40, 300, 2_000, 6_000])


class StillStory(Story):
    """Tells of one group, which every observation names, as those of a run do."""

    def answer(self, request: Observation, *, error: int = 0, **columns: object) -> Observation:
        return super().answer(request, error=error, **{"group": "g", **columns})

    def see(self, kind: str, **columns: object) -> Observation:
        of_group = {"group": "g"} if columns.get("who") in ("shim", "kit") else {}
        return super().see(kind, **{**of_group, **columns})

    def pass_ms(self, ms: float) -> None:
        self.at(self._now_ms + ms)

    def link(self, connection: int, by: str) -> None:
        self.see("event", who="link", connection=connection, body={"name": "closed", "by": by})
