from __future__ import annotations

import pytest

from groupproof.clients.member.streams_settings import ThreadSettings
from groupproof.protocol.wire.embedded.streams_protocol import STREAMS_VERSION_MAX


def test_a_thread_knows_the_newest_version_and_keeps_no_state_by_default() -> None:
    settings = ThreadSettings(process="0" * 32)

    assert (settings.latest, settings.is_stateful, settings.standbys) == (STREAMS_VERSION_MAX, False, 0)


@pytest.mark.parametrize("wrong", [{"latest": 0}, {"standbys": -1}, {"latest": 8, "first": 9}])
def test_versions_and_counts_that_make_no_sense_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"version|standby"):
        ThreadSettings(process="0" * 32, **wrong)  # type: ignore[arg-type]  # fields by name
