from __future__ import annotations

import pytest

from groupproof.clients.member.connect_settings import WorkerSettings


@pytest.mark.parametrize(("protocol", "version"), [("eager", 0), ("compatible", 1), ("sessioned", 2)])
def test_the_protocol_says_the_newest_version_of_the_blobs(protocol: str, version: int) -> None:
    assert WorkerSettings(url="u", protocol=protocol).version == version


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match=r"connect.protocol is eager, compatible or sessioned, not 'default'"):
        WorkerSettings(url="u", protocol="default")
    with pytest.raises(ValueError, match="must not be negative"):
        WorkerSettings(url="u", tasks_max=-1)
