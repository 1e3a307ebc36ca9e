from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.chaos.spark.conftest import MASTER

from groupproof.chaos.spark import session as module
from groupproof.chaos.spark.session import is_local, session, settings_for
from groupproof.harness.model.errors import BrokenEnvironment, KitFailure

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_local_session_listens_on_loopback_and_compiles_with_c1() -> None:
    settings = settings_for("local[2]")

    assert settings["spark.driver.bindAddress"] == settings["spark.driver.host"] == "127.0.0.1"
    assert "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" in settings["spark.driver.extraJavaOptions"]
    assert "-XX:ReservedCodeCacheSize=240m" in settings["spark.driver.extraJavaOptions"]
    assert settings["spark.ui.enabled"] == "false"
    assert settings["spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures"] == "1"


def test_a_session_for_long_jobs_has_the_whole_compiler() -> None:
    settings = settings_for("local[2]", is_long=True)

    for name in ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"):
        assert "TieredStopAtLevel" not in settings[name]
        assert "-XX:+UseParallelGC" in settings[name]


def test_a_cluster_keeps_its_own_addresses() -> None:
    settings = settings_for("spark://cluster:7077")

    assert "spark.driver.host" not in settings
    assert "spark.pyspark.python" not in settings


def test_what_the_user_says_wins() -> None:
    settings = settings_for("local[2]", [Path("/a.jar"), Path("/b.jar")], {"spark.ui.enabled": True, "spark.sql.shuffle.partitions": 7})

    assert settings["spark.ui.enabled"] == "true"
    assert settings["spark.sql.shuffle.partitions"] == "7"
    assert settings["spark.jars"] == "/a.jar,/b.jar"


@pytest.mark.parametrize(
    ("master", "local"), [("local[*]", True), ("local-cluster[2,1,512]", True), ("spark://127.0.0.1:7077", True), ("k8s://host", False)]
)
def test_masters_on_this_machine_are_distinguished_from_clusters(master: str, local: bool) -> None:
    assert is_local(master) is local


def test_without_a_java_the_line_names_what_is_there_and_the_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_java", lambda: None)
    monkeypatch.setattr(module, "javas", lambda: iter(()))

    with pytest.raises(BrokenEnvironment, match=r"a Java from 17 to 21, and here is none: .*groupproof doctor"):
        module._set_environment("local[2]")


def test_without_pyspark_the_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)

    with pytest.raises(BrokenEnvironment, match=r"pip install 'groupproof\[spark\]'; groupproof doctor"):
        session("none")


@pytest.mark.java
def test_a_process_has_one_session(spark: SparkSession) -> None:
    settings: dict[str, Any] = {"spark.sql.shuffle.partitions": 3}
    same = session("again", master=MASTER, **settings)

    assert same.sparkContext is spark.sparkContext
    assert same.conf.get("spark.sql.shuffle.partitions") == "3"
    assert os.environ["PYSPARK_PYTHON"] == sys.executable
    with pytest.raises(KitFailure, match="can't have another one on local"):
        session("other", master="local[7]")
