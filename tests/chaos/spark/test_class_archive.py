from __future__ import annotations

import os
from pathlib import Path

import pytest

from groupproof.chaos.spark.class_archive import ARCHIVES_MAX, archive_for, is_whole, options_for, using
from groupproof.harness.subjects.java_for_spark import Java

WHOLE = (0xF00BABA8).to_bytes(4, "little") + b"and classes"


@pytest.fixture
def spark_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("SPARK_CONF_DIR", "SPARK_CLASSPATH", "SPARK_DIST_CLASSPATH", "HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    (home / "jars" / "core.jar").write_bytes(b"classes")
    return home


def java(release: str = "17.0.15") -> Java:
    return Java(home=Path("/opt/java"), release=release)


def archive(home: Path, cache: Path, *lines: str, release: str = "17.0.15") -> Path:
    found = archive_for(java(release), home, cache, lines)
    assert found is not None
    return found


def test_the_first_session_writes_an_archive_and_the_next_begins_with_it(spark_home: Path, tmp_path: Path) -> None:
    mine = archive(spark_home, tmp_path)
    first = options_for(java(), spark_home, tmp_path)
    mine.write_bytes(WHOLE)
    second = options_for(java(), spark_home, tmp_path)

    assert first.startswith(f"-XX:ArchiveClassesAtExit={mine} -Xlog:cds*=off")
    assert second.startswith(f"-XX:SharedArchiveFile={mine} -Xlog:cds*=off")
    assert using(mine) == second, "executors begin with it too"


def test_an_archive_that_was_cut_off_is_not_used_but_written_again(spark_home: Path, tmp_path: Path) -> None:
    mine = archive(spark_home, tmp_path)
    mine.parent.mkdir()
    mine.write_bytes(bytes(len(WHOLE)))

    assert not is_whole(mine)
    assert using(mine) == ""
    assert "ArchiveClassesAtExit" in options_for(java(), spark_home, tmp_path)


def test_another_java_other_jars_and_another_class_path_have_archives_of_their_own(spark_home: Path, tmp_path: Path) -> None:
    found = {archive(spark_home, tmp_path), archive(spark_home, tmp_path, release="21.0.2"), archive(spark_home, tmp_path, "--driver-class-path x")}
    (spark_home / "jars" / "core.jar").write_bytes(b"newer classes")

    assert len({*found, archive(spark_home, tmp_path)}) == 4
    assert archive(spark_home, tmp_path) == archive(spark_home, tmp_path)


@pytest.mark.parametrize("by", ["environment", "conf"])
def test_with_folders_on_the_class_path_there_is_none(spark_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    if by == "environment":
        monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    else:
        (spark_home / "conf").mkdir()
        (spark_home / "conf" / "spark-defaults.conf").touch()

    assert options_for(java(), spark_home, tmp_path) == ""
    assert archive_for(java(), spark_home, tmp_path) is None
    assert using(None) == ""


def test_those_used_last_are_kept(spark_home: Path, tmp_path: Path) -> None:
    folder = archive(spark_home, tmp_path).parent
    folder.mkdir()
    for number in range(ARCHIVES_MAX + 2):
        (folder / f"{number}.jsa").write_bytes(WHOLE)
        os.utime(folder / f"{number}.jsa", (number, number))

    options_for(java(), spark_home, tmp_path)

    assert {path.name for path in folder.iterdir()} == {"3.jsa", "4.jsa"}


def test_a_cache_that_can_not_be_written_costs_the_gain_alone(spark_home: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, where a folder is wanted")

    assert options_for(java(), spark_home, tmp_path / "cache") == ""
