"""What the registries' clients print, and the release that is read in it. The programs are played here; `groupproof list subjects --outdated` runs them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from groupproof.clients.registry.install_cache import ProvisionError
from groupproof.clients.registry.toolchains import newest_releases
from groupproof.clients.registry.toolchains.newest_releases import REGISTRIES, newest_release


@pytest.fixture
def says(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Have the next program print something, and write something where it is told to."""

    def play(printed: str, *, written: str = "", code: int = 0) -> list[list[str]]:
        calls: list[list[str]] = []

        def run(argv: Sequence[str], *, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
            assert cwd is not None
            calls.append(list(argv))
            for option in argv:
                if option.startswith("-Dversions.outputFile="):
                    Path(option.partition("=")[2]).write_text(written, "utf-8")
            return subprocess.CompletedProcess(argv, code, stdout=printed, stderr="" if code == 0 else printed)

        monkeypatch.setattr(newest_releases, "run", run)
        monkeypatch.setattr(newest_releases, "_program", lambda _language, name: name)
        return calls

    return play


@pytest.mark.parametrize(
    ("language", "package", "printed", "newest"),
    [
        ("python", "aiokafka", "aiokafka (0.14.0)\nAvailable versions: 0.14.0, 0.13.0\n", "0.14.0"),
        ("javascript", "kafkajs", "npm notice of an update\n2.2.4\n", "2.2.4"),
        ("go", "github.com/IBM/sarama", "v1.61.1\n", "1.61.1"),
        ("rust", "krafka", "krafka #kafka\nA client\nversion: 0.28.1\nlicense: MIT\n", "0.28.1"),
    ],
)
def test_the_newest_release_is_read_in_what_the_client_prints(language: str, package: str, printed: str, newest: str, says: Any) -> None:
    calls = says(printed)

    assert newest_release(language, package, registered="0.1.0") == newest
    assert any(package in word for word in calls[0])


def test_maven_is_asked_what_is_newer_than_the_registered_release(says: Any) -> None:
    says("", written="The following dependencies in Dependencies have newer versions:\n  g:kafka-clients ... 4.3.1 -> 4.4.0\n")
    assert newest_release("java", "g:kafka-clients", registered="4.3.1") == "4.4.0"

    calls = says("", written="No dependencies in Dependencies have newer versions.\n")
    assert newest_release("java", "g:kafka-clients", registered="4.4.0") == "4.4.0"
    ignored = next(option.partition("=")[2] for option in calls[0] if option.startswith("-Dmaven.version.ignore="))
    inner = ignored.replace("(?i:", "(?:")
    assert [name for name in ("4.4.0", "4.2.0-M1", "4.0.0-rc2", "1.0.0.Beta1") if re.fullmatch(inner, name, re.IGNORECASE)] == [
        "4.2.0-M1",
        "4.0.0-rc2",
        "1.0.0.Beta1",
    ]


def test_a_registry_that_cannot_be_asked_is_an_error_with_its_words(says: Any) -> None:
    says("error: no route to host", code=1)
    with pytest.raises(ProvisionError, match=r"the registry could not be asked: error: no route to host"):
        newest_release("python", "aiokafka", registered="0.14.0")

    says("nothing of the kind")
    with pytest.raises(ProvisionError, match=r"the registry names no release of aiokafka"):
        newest_release("python", "aiokafka", registered="0.14.0")


def test_a_language_without_a_registry_is_not_asked() -> None:
    assert "c" not in REGISTRIES
    assert newest_release("c", "librdkafka", registered="2.16.0") is None
