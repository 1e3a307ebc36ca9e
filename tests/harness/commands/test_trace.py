from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.harness.commands.calling import Call
from tests.traces import Story

from groupproof.protocol.trace import write_trace
from groupproof.protocol.trace_columns import write_parquet
from groupproof.protocol.vocabulary import Api


@pytest.mark.slow
def test_the_traces_of_a_run_come_to_the_runs_verdicts(groupproof: Call) -> None:
    certified = groupproof("certify", "client", "groupproof", "--only", "leave/", "--output", "out", "--json")

    called = groupproof("trace", "check", "out/cases", "--json")

    assert called.code == 0
    assert {item["id"]: (item["verdict"], item["goodbye"], item["fingerprint"]) for item in called.json} == {
        case["id"]: (case["verdict"], case["goodbye"], case["fingerprint"]) for case in certified.json["cases"]
    }


def test_a_trace_of_no_case_is_judged_by_what_is_illegal_whatever_it_is_about(groupproof: Call, tmp_path: Path) -> None:
    story = Story().member()
    story.beat(member="somebody-else")
    (tmp_path / "seen.ndjson").write_text("\n".join(write_trace(story.trace)))

    called = groupproof("trace", "check", "seen.ndjson")

    assert called.code == 1
    assert called.out.startswith("FAILED observed/classic/g")
    assert "named a member id that the client was never given" in called.out


@pytest.mark.parametrize("words", [("check",), ("explain",), ("check", "--json")], ids=" ".join)
def test_a_body_with_a_value_of_another_type_is_wrong_usage_with_its_line(groupproof: Call, tmp_path: Path, words: tuple[str, ...]) -> None:
    first, second, *rest = write_trace(Story().member().trace)
    second = json.dumps({**json.loads(second), "body": {"error_code": "none"}})
    (tmp_path / "seen.ndjson").write_text("\n".join((first, "", second, *rest)) + "\n")

    called = groupproof("trace", *words, "seen.ndjson")

    assert called.code == 3
    assert 'seen.ndjson is no trace: line 3: field error_code of its body is "none", where a trace has a whole number' in called.err


@pytest.mark.parametrize(("text", "message"), [(None, "No such file"), ("hello", "line 1 is no observation")])
def test_what_is_no_trace_is_wrong_usage(text: str | None, message: str, groupproof: Call, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "seen.ndjson").write_text(text)

    called = groupproof("trace", "check", "seen.ndjson")

    assert called.code == 3
    assert message in called.complaint


@pytest.mark.parametrize("command", ["check", "explain"])
@pytest.mark.parametrize("change", [{"body": None}, {"body": [1]}, {"seq": "x"}, {"member_epoch": "x"}])
def test_a_column_with_a_value_of_another_type_is_wrong_usage(change: dict[str, Any], command: str, groupproof: Call, tmp_path: Path) -> None:
    lines = list(write_trace(Story().member().trace))
    lines[2] = json.dumps({**json.loads(lines[2]), **change})
    (tmp_path / "seen.ndjson").write_text("\n".join(lines))

    called = groupproof("trace", command, "seen.ndjson")

    (column,) = change
    assert called.code == 3
    assert (
        f"seen.ndjson is no trace in NDJSON: line 3 is no observation: its column {column} is {json.dumps(change[column])}, where "
        in called.complaint
    )


@pytest.mark.parametrize("options", [(), ("--meters",), ("--jobs", "2")])
def test_a_file_without_an_observation_is_wrong_usage(options: tuple[str, ...], groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "empty.ndjson").write_text("")
    (tmp_path / "blank.ndjson").write_text("\n\n")

    called = groupproof("trace", "check", "empty.ndjson", "blank.ndjson", *options)

    assert (called.code, called.out) == (3, "")
    assert called.complaint.strip() == "groupproof: no observation in empty.ndjson, blank.ndjson"
    assert groupproof("trace", "check", "/dev/null", *options).code == 3


def test_observations_without_a_group_are_nothing_to_judge(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "seen.ndjson").write_text('{"seq":0,"at_ns":0,"kind":"event","who":"kit","body":{"name":"clock"}}\n')

    called = groupproof("trace", "check", "seen.ndjson")

    assert called.code == 2
    assert called.complaint.startswith("nothing to judge in seen.ndjson: ")


def test_a_group_that_only_stores_offsets_costs_no_other_group_its_verdict(groupproof: Call, tmp_path: Path) -> None:
    story, alone = Story().member(), Story()
    tool: dict[str, Any] = {"group": "standalone", "member": "", "generation": -1, "offsets": (("t", 0, 5),)}
    story.answer(story.request(Api.OFFSET_COMMIT, "tool", connection=9, **tool))
    alone.answer(alone.request(Api.OFFSET_COMMIT, "tool", connection=9, **tool))
    (tmp_path / "seen.ndjson").write_text("\n".join(write_trace(story.trace)))
    (tmp_path / "alone.ndjson").write_text("\n".join(write_trace(alone.trace)))

    called, by_itself = groupproof("trace", "check", "seen.ndjson"), groupproof("trace", "check", "alone.ndjson")

    assert (called.code, by_itself.code) == (0, 2)
    assert "UNIMPLEMENTED observed/classic/standalone (1/1); goodbye NONE\n  observed  not judged: nobody asked to join" in called.out


def test_meters_stand_beside_the_verdict(groupproof: Call, tmp_path: Path) -> None:
    (tmp_path / "seen.ndjson").write_text("\n".join(write_trace(Story().member().trace)))

    table, called = groupproof("trace", "check", "seen.ndjson", "--meters"), groupproof("trace", "check", "seen.ndjson", "--meters", "--json")

    assert [line.split() for line in table.out.splitlines() if "rebalances" in line] == [["rebalances", "1"]]
    assert called.json[0]["meters"][0]["rebalances"] == 1
    assert "meters" not in groupproof("trace", "check", "seen.ndjson", "--json").json[0]


def test_a_folder_of_parquet_is_judged_and_explained_as_lines_are(groupproof: Call, tmp_path: Path) -> None:
    trace = Story().member().trace
    (tmp_path / "fleet").mkdir()
    write_parquet(tmp_path / "fleet" / "part-0.parquet", trace)
    (tmp_path / "seen.ndjson").write_text("\n".join(write_trace(trace)))

    checked, explained = groupproof("trace", "check", "fleet"), groupproof("trace", "explain", "fleet")

    assert checked.code == 0
    assert checked.out == groupproof("trace", "check", "seen.ndjson").out
    assert checked.out.startswith("OK observed/classic/g")
    assert explained.out == groupproof("trace", "explain", "seen.ndjson").out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--meters", "--engine", "spark"), "--meters goes with --engine process"),
        (("--jobs", "2", "--engine", "spark"), "--jobs goes with --engine process"),
        (("--jobs", "2", "--meters"), "and without --meters"),
    ],
)
def test_what_an_engine_does_not_do_is_wrong_usage(groupproof: Call, tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    (tmp_path / "seen.ndjson").write_text("\n".join(write_trace(Story().member().trace)))

    called = groupproof("trace", "check", "seen.ndjson", *options)

    assert called.code == 3
    assert message in called.complaint
