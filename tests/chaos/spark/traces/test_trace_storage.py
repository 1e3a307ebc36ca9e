from __future__ import annotations

from pathlib import Path

import pytest
from pyarrow import fs
from tests.chaos.spark.loads import order

from groupproof.chaos.spark.load.load_summary import both_sides
from groupproof.chaos.spark.load.resume import MEMBERS, LoadSession
from groupproof.chaos.spark.traces.trace_segments import Sealer
from groupproof.chaos.spark.traces.trace_storage import Place, is_uri
from groupproof.harness.model.errors import WrongUsage
from groupproof.protocol.trace import Observation
from groupproof.protocol.trace_columns import read_parquet


@pytest.fixture(params=["local", "elsewhere"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Return a folder of this machine, or the same folder as a file system of which only pyarrow knows."""
    if request.param == "local":
        return Place.of(tmp_path)
    return Place("", fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "test://bucket", "?key=secret")


def observation(seq: int, generation: int, group: str | None = "g") -> Observation:
    return Observation(
        seq=seq, at_ns=seq, run="r", who="member", kind="response", api="JoinGroup", member="m", group=group, generation=generation, error=0
    )


def test_what_is_sealed_somewhere_is_read_from_there(place: Place, tmp_path: Path) -> None:
    sealer = Sealer(place / MEMBERS, "r", "task-0000-0")
    for obs in (observation(1, 1), observation(2, 1, "a b"), observation(3, 2)):
        sealer.add(obs)
    sealer.seal()

    assert [obs.seq for obs in (place / MEMBERS).observations()] == [2, 1, 3]
    assert [rows for rows, _ in (place / MEMBERS).sizes()] == [1, 2]
    assert sorted(item.seq for item in read_parquet(tmp_path / MEMBERS)) == [1, 2, 3]
    assert both_sides(place) == (3, None)
    assert not [file for file in tmp_path.rglob(".*")], "nothing unfinished stays"


def test_a_text_is_there_whole_and_replaced(place: Place) -> None:
    assert place.is_empty()
    (place / "load.json").write_text("one")
    (place / "load.json").write_text("two")

    assert (place / "load.json").read_text() == "two"
    assert ((place / "load.json").is_file(), place.is_folder(), place.is_empty()) == (True, True, False)
    assert not (place / "nothing").is_folder()


def test_a_load_that_stands_elsewhere_is_gone_on_with(tmp_path: Path) -> None:
    first = LoadSession.open(f"file://{tmp_path}/load", order())
    first.passed(2.0)

    assert LoadSession.open(tmp_path / "load", order()).skip_s == 2.0


def test_a_storage_place_is_shown_without_its_keys(place: Place) -> None:
    below = place / "load"

    assert str(below).endswith("load" if place.local else "test://bucket/load?key=secret")
    assert "secret" not in below.label
    assert Place("b", place.files, "s3://key:secret@b").label in ("b", "s3://b")


def test_a_uri_that_nothing_reaches_is_reported_in_one_line() -> None:
    assert is_uri("s3://bucket/x")
    assert not is_uri("reports/load")
    with pytest.raises(WrongUsage, match=r"^ftp://there is no place that pyarrow reaches: [^\n]+$"):
        Place.of("ftp://key:secret@there")


def test_a_path_is_a_place_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    assert str(Place.of("load")) == str(tmp_path / "load")
    assert Place.of(f"file://{tmp_path}").local == tmp_path
