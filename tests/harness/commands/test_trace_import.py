"""`groupproof trace import` turns what others recorded into a trace that the other commands read."""

from __future__ import annotations

from pathlib import Path

from tests.harness.commands.calling import Call
from tests.harness.judging.diagnosis.trimming import RECORDED
from tests.harness.judging.topic_history.stories import member
from tests.harness.running.importing import frames
from tests.harness.subjects.offsets_topic.topic_logs import TopicLogs, generation

from groupproof.protocol.trace import read_trace

LOGS = sorted((RECORDED / "1.1.0").glob("server-*.log"))
CAPTURE = Path(frames.__file__).parent / "captured/kafka-4.1.0.pcap"


def test_logs_become_a_trace_on_standard_output(groupproof: Call) -> None:
    called = groupproof("trace", "import", *LOGS)
    trace = list(read_trace(called.out.splitlines()))

    assert called.code == 0
    assert {obs.group for obs in trace if obs.kind == "transition"} >= {"closed", "poll-interval"}
    assert [obs.seq for obs in trace] == list(range(len(trace)))


def test_a_capture_becomes_a_trace_in_a_file_which_check_and_explain_read(groupproof: Call, tmp_path: Path) -> None:
    called = groupproof("trace", "import", CAPTURE, "--port", "44109", "--port", "41205", "-o", "trace.ndjson")

    assert (called.code, called.out) == (0, "")
    assert "groups in trace.ndjson" in called.err
    assert "leader-rejoined" in groupproof("trace", "explain", tmp_path / "trace.ndjson").out
    assert "observed/classic/leader-rejoined" in groupproof("trace", "check", tmp_path / "trace.ndjson").out


def test_a_capture_of_other_ports_says_which_option_names_them(groupproof: Call) -> None:
    called = groupproof("trace", "import", CAPTURE)

    assert called.code == 3
    assert "name the brokers' with --port" in called.complaint


def test_a_trace_needs_no_import(groupproof: Call) -> None:
    called = groupproof("trace", "import", RECORDED / "1.1.0/wire.ndjson.gz")

    assert called.code == 3
    assert "is a trace already" in called.complaint


def test_segments_of_the_offsets_topic_become_a_trace_that_explain_reads(groupproof: Call, tmp_path: Path) -> None:
    logs = TopicLogs()
    logs.append(3, generation(1_000, "payments", 1, (member("a-1"),)), generation(5_000, "payments", 2, (member("a-1"), member("b-1"))))
    logs.write(tmp_path)
    segment = tmp_path / "__consumer_offsets-3/00000000000000000000.log"
    trace = list(read_trace(groupproof("trace", "import", segment).out.splitlines()))
    explained = groupproof("trace", "explain", segment)

    assert [obs.generation for obs in trace[1:]] == [1, 2]
    assert "cause    new-member (client change, new member), inferred" in explained.out
    assert "__consumer_offsets-3 offset 1: 2 members; joined: b" in explained.out
