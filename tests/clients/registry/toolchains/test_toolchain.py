"""What the toolchains share."""

from __future__ import annotations

from pathlib import Path

import pytest

from groupproof.clients.registry.registered_clients import WrongPairing, resolve
from groupproof.clients.registry.toolchains.toolchain import digest, refuse_other_runtimes, releases_in_cache


def test_the_releases_in_the_cache_are_those_of_the_client_alone(tmp_path: Path) -> None:
    for name in ("kafka-python-2.2.3-cp311-aa", "kafka-python-3.0.12-cp311-bb", "kafka-python-ng-2.2.3-cp311-cc", ".kafka-python-9.0-aa.lock"):
        (tmp_path / "python" / name).mkdir(parents=True)

    assert releases_in_cache("python/kafka-python", tmp_path) == ["2.2.3", "3.0.12"]
    assert releases_in_cache("go/franz-go", tmp_path) == []


def test_a_release_is_refused_on_a_runtime_that_it_does_not_fit() -> None:
    refuse_other_runtimes(resolve("java"), running="17.0.1", title="Java", cure="get another")

    with pytest.raises(WrongPairing, match=r"java@4\.4\.0 needs Java >=17, this is 11\.0\.2: get another"):
        refuse_other_runtimes(resolve("java"), running="11.0.2", title="Java", cure="get another")


def test_another_recipe_has_another_digest() -> None:
    assert digest(["a", "b"]) == digest(["a", "b"])
    assert len({digest(["a", "b"]), digest(["a", "c"]), digest(["ab"])}) == 3
