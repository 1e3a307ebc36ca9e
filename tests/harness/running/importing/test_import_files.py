"""A file is read for what it is; one that is nothing of the kind is one clear line for a person."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from tests.harness.judging.diagnosis.trimming import RECORDED

from groupproof.harness.judging.checkers.fleet import Fleet
from groupproof.harness.model.errors import WrongUsage
from groupproof.harness.model.verdicts import Verdict
from groupproof.harness.running.importing.import_files import FileKind, import_files, kind_of, read_any

CAPTURE = Path(__file__).parent / "captured/kafka-4.1.0.pcap"
SERVER = RECORDED / "1.1.0/server-0.log"
WIRE = RECORDED / "1.1.0/wire.ndjson.gz"


@pytest.mark.parametrize(
    ("file", "kind"), [(SERVER, FileKind.LOG), (RECORDED / "1.1.0/debug-0.log.gz", FileKind.LOG), (WIRE, FileKind.TRACE), (CAPTURE, FileKind.CAPTURE)]
)  # fmt: skip
def test_files_are_distinguished_by_how_they_begin(file: Path, kind: FileKind) -> None:
    assert kind_of(file) is kind


def test_logs_of_several_brokers_and_of_clients_are_one_trace() -> None:
    trace = import_files([*sorted((RECORDED / "1.1.0").glob("server-*.log")), RECORDED / "1.1.0/client.log"])

    assert {obs.node for obs in trace if obs.kind == "transition"} == {0, 1}
    assert {obs.who for obs in trace} == {"kit", "coordinator", "member"}
    assert [obs.seq for obs in trace] == list(range(len(trace)))
    assert [obs.at_ns for obs in trace] == sorted(obs.at_ns for obs in trace)


@pytest.mark.parametrize("release", ["1.1.0", "4.1.0"])
def test_the_request_logs_of_several_brokers_break_no_rule(release: str) -> None:
    """Each log numbers its connections from 1."""
    fleet = Fleet()
    for obs in import_files(sorted((RECORDED / release).glob("debug-*.log.gz"))):
        fleet.feed(obs)
    results = list(fleet.results())

    assert len(results) > 5
    assert [count.examples for group in results for count in (*group.members, *group.invariants) if count.examples[0].verdict is Verdict.FAILED] == []


def test_traces_stay_apart_from_what_is_imported_beside_them() -> None:
    own, imported = read_any([WIRE, SERVER])

    assert own[0].run == "apache-kafka@1.1.0"
    assert imported[0].run == "server-0.log"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "has nothing about groups"), (b"hello\nworld\n", "no line of a group coordinator"), (b"\xff\xfe\x00binary", "has nothing about groups"),
        (gzip.compress(b"text", mtime=0)[:-9], "no whole gzip file"), (b"\xd4\xc3\xb2\xa1", "can't be read as a capture: its header is cut off"),
        (CAPTURE.read_bytes(), "no requests to port 9092; name the brokers' with --port"), (b'{"seq":0,"at_ns":0,"kind":"event"}\n', "is a trace already"),
    ],
)  # fmt: skip
def test_a_file_that_tells_nothing_is_named_with_what_it_lacks(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "given"
    file.write_bytes(content)

    with pytest.raises(WrongUsage, match=why):
        import_files([file])


def test_a_broken_trace_and_a_missing_file_are_named(tmp_path: Path) -> None:
    broken = tmp_path / "trace.ndjson"
    broken.write_text('{"seq":0,"at_ns":0,"kind":"event"}\n{"seq":1\n')

    with pytest.raises(WrongUsage, match="is no trace in NDJSON: line 2"):
        read_any([broken])
    with pytest.raises(WrongUsage, match="can't be read: No such file"):
        read_any([tmp_path / "nowhere"])
    with pytest.raises(WrongUsage, match="can't be read: Is a directory"):
        import_files([tmp_path])


def test_a_folder_stands_for_the_traces_in_it(tmp_path: Path) -> None:
    (tmp_path / "case").mkdir()
    (tmp_path / "case/trace.ndjson").write_bytes(gzip.decompress(WIRE.read_bytes()))

    assert [trace[0].run for trace in read_any([tmp_path])] == ["apache-kafka@1.1.0"]
    with pytest.raises(WrongUsage, match=r"there is no trace\.ndjson in"):
        read_any([tmp_path / "case", RECORDED / "1.1.0"])
