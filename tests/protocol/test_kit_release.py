from __future__ import annotations

import importlib.metadata

import pytest

from groupproof.protocol import kit_release


def test_the_release_is_that_of_the_installed_package() -> None:
    assert kit_release.release() == importlib.metadata.version("groupproof")


def test_a_work_tree_that_is_not_installed_has_release_0(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(kit_release, "version", missing)

    assert kit_release.release.__wrapped__() == "0"
