from __future__ import annotations

import pytest

from groupproof.harness.commands.pytest_plugin.argument_names import api_meant, error_meant, place_meant
from groupproof.protocol.trace import Observation


def test_errors_are_meant_by_name_or_code() -> None:
    assert error_meant("ILLEGAL_GENERATION") == error_meant(22) == 22
    assert error_meant(4711) == 4711
    with pytest.raises(ValueError, match="no error is called 'ILLEGAL'"):
        error_meant("ILLEGAL")


def test_an_api_is_meant_by_kafkas_name() -> None:
    assert api_meant("SyncGroup") == "SyncGroup"
    with pytest.raises(ValueError, match="did you mean SyncGroup"):
        api_meant("syncgroup")


def test_a_place_is_a_number_or_what_was_seen_last_before_it() -> None:
    assert place_meant(7) == 7
    assert place_meant(Observation(seq=7, at_ns=0, kind="event")) == 8
    with pytest.raises(TypeError, match=r"since= takes a place in the trace: .* not 'here'"):
        place_meant("here")  # type: ignore[arg-type]  # what is no place is what is tested
