from __future__ import annotations

from groupproof.harness.judging.observed.limits import UnjudgedSide


def test_it_says_of_whom_and_why() -> None:
    assert str(UnjudgedSide(group="g", side="coordinator", why="it moved")) == "the coordinator of group 'g' is not judged: it moved"
    assert str(UnjudgedSide(group="g", side="members", why="they moved")) == "the members of group 'g' are not judged: they moved"
