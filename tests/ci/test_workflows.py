"""What users put into their own CI: the files are sound, and their steps do what they say, on the reference where a run is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.ci.jobs import ROOT, Job, loaded
from tests.harness.reports.report_of import report

ONLY = "heartbeat/classic/steady heartbeat/classic/rebalance-in-progress"
WORKFLOW = ".github/workflows/certify.yml"
SCHEMAS = {
    "github-actions": ["action.yml"],
    "github-workflows": [WORKFLOW, "ci/examples/github.yml"],
    "gitlab-ci": ["ci/gitlab.yml", "ci/examples/gitlab.yml"],
}
STYLE = "{extends: default, rules: {line-length: {max: 180}, document-start: disable, truthy: {check-keys: false}, comments: disable}}"

# Stands for `groupproof`: writes down what it was asked, one word a line.
FAKE = """#!/bin/sh
printf '%s\\n' "$@" > "$ASKED"
exit "${FAKE_CODE:-0}"
"""


def tool(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [str(Path(sys.executable).with_name(name)), *arguments]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a `groupproof` on the path that only notes what it is asked; return where."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "groupproof").write_text(FAKE)
    (folder / "groupproof").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    return tmp_path / "asked"


def inputs(file: str, **options: str) -> dict[str, str]:
    """Return the inputs of an action or a reusable workflow as expressions name them."""
    top = loaded(file)
    declared = top["inputs"] if "inputs" in top else top[True]["workflow_call"]["inputs"]  # YAML 1.1 reads `on` as true
    named = {name.replace("_", "-"): value for name, value in options.items()}
    assert named.keys() <= declared.keys()
    return {f"inputs.{name}": str(named.get(name, value.get("default", ""))) for name, value in declared.items()}


def action(folder: Path, **options: str) -> Job:
    """Return a job that has run the Action's steps in `folder`."""
    folder.mkdir(exist_ok=True)
    job = Job(folder, {"github.action_path": str(ROOT), **inputs("action.yml", **options)})
    job.outputs["code"] = str(job.run(loaded("action.yml")["runs"]["steps"]))
    return job


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_files_are_as_their_readers_schemas_say(schema: str) -> None:
    checked = tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *SCHEMAS[schema])

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_files_and_scripts_are_linted() -> None:
    files = [file for schema in SCHEMAS.values() for file in schema]
    scripts = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "ci" / "action").iterdir())

    for linted in (tool("yamllint", "--strict", "--config-data", STYLE, *files), tool("shellcheck", *scripts)):
        assert linted.returncode == 0, linted.stdout + linted.stderr


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="absent: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7")
def test_the_workflows_expressions_and_scripts_are_linted() -> None:
    linted = subprocess.run(["actionlint", WORKFLOW, "ci/examples/github.yml"], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)

    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_what_the_workflow_hands_to_the_action_are_its_inputs_and_so_are_the_examples() -> None:
    jobs = loaded(WORKFLOW)["jobs"]
    (call,) = [step for step in jobs["certify"]["steps"] if step.get("uses") == "./.groupproof"]
    example = loaded("ci/examples/github.yml")["jobs"]

    assert call["with"].keys() <= loaded("action.yml")["inputs"].keys()
    assert example["shim"]["steps"][-1]["with"].keys() <= loaded("action.yml")["inputs"].keys()
    assert example["releases"]["with"].keys() <= loaded(WORKFLOW)[True]["workflow_call"]["inputs"].keys()
    assert loaded("ci/examples/gitlab.yml").keys() > {"include"}


def test_every_input_of_the_action_reaches_the_command_line(fake: Path, tmp_path: Path) -> None:
    inputs_ = {
        "side": "client", "program": 'python "my shim.py" --x', "profile": "kafka-3.9", "only": "join sync", "skip": "'leave*'", "level": "must", "seed": "7",
        "expect": "a.toml known-{release}.toml", "baseline": "old/{release}.json", "release": "2.0", "fail_on": "unclean", "shard": "1/4",
        "options": "--timeout 60", "output": "out put",
    }  # fmt: skip
    steps = loaded("action.yml")["runs"]["steps"][1:2]  # without the installation, whose `groupproof` would come first
    job = Job(tmp_path, {"github.action_path": str(ROOT), **inputs("action.yml", **inputs_)}, first=tmp_path / "bin")
    steps[0]["env"] |= {"ASKED": str(fake)}

    assert job.run(steps) == 0

    assert fake.read_text().split("\n") == [
        "certify", "client", "--output", "out put", "--profile", "kafka-3.9", "--level", "must", "--seed", "7", "--baseline", "old/2.0.json",
        "--fail-on", "unclean", "--shard", "1/4", "--only", "join", "--only", "sync", "--skip", "leave*", "--expect", "a.toml",
        "--expect", "known-2.0.toml", "--timeout", "60", "--", "python", "my shim.py", "--x", "",
    ]  # fmt: skip


@pytest.mark.slow
def test_two_shards_by_the_action_are_joined_by_the_workflow_and_held_against_a_baseline(tmp_path: Path) -> None:
    old = report({id: ("OK", None) for id in ONLY.split()}, name="groupproof", version="0")
    (tmp_path / "old-0.json").write_text(json.dumps(old))
    options: dict[str, Any] = {"subject": "groupproof", "only": ONLY}
    for number in (1, 2):
        job = action(tmp_path, **options, shard=f"{number}/2", output=f"shards/{number}")
        assert [item.code for item in job.done] == [0, 0, 0, None, 0], job.done
        assert job.done[3].inputs == {"name": "groupproof-report", "path": f"shards/{number}", "if-no-files-found": "error"}
        assert job.outputs["steps.certify.outputs.grade"].startswith("PARTIAL 1/")
        assert f"(shard {number}/2)" in job.summary

    steps = {step["name"]: step for step in loaded(WORKFLOW)["jobs"]["join"]["steps"] if "name" in step}
    (tmp_path / ".groupproof").symlink_to(ROOT)
    join = Job(tmp_path, {"matrix.release": "0", **inputs(WORKFLOW, baseline="old-{release}.json")})
    assert join.run([steps["Install groupproof"], steps["Join the shards"]]) == 0, join.done
    assert "as in old-0.json" in join.done[1].out
    assert "**Against old-0.json:** no case moved off OK" in join.summary


def test_all_releases_are_put_side_by_side_and_over_time(fake: Path, tmp_path: Path) -> None:
    (pages,) = [step for step in loaded(WORKFLOW)["jobs"]["pages"]["steps"] if step.get("name") == "Matrix and history"]
    for name in ("groupproof-1.0-1", "groupproof-2.0-1", "groupproof-3.0-1"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    for name in ("groupproof-1.0-1", "groupproof-2.0-1"):
        (tmp_path / "runs" / name / "report.json").write_text("{}")
    (tmp_path / ".groupproof").symlink_to(ROOT)
    job = Job(tmp_path, {}, first=tmp_path / "bin")
    pages["env"] = {"ASKED": str(fake), "FAKE_CODE": "1"}

    assert job.run([pages]) == 0
    assert fake.read_text().split() == ["report", "--history", "runs/groupproof-1.0-1", "runs/groupproof-2.0-1", "--output", "pages"]
    assert "the joined runs end with 1" in job.done[0].out


@pytest.mark.slow
def test_a_run_that_comes_to_no_report_fails_the_job_with_its_code_and_keeps_nothing(tmp_path: Path) -> None:
    job = action(tmp_path, subject="kafka-pyton")

    assert job.outputs["code"] == "3"
    assert [item.code for item in job.done] == [0, 0, None, None, 3]
    assert "did you mean kafka-python" in job.done[1].out
    assert job.outputs["steps.certify.outputs.report"] == "no"


def test_the_workflow_counts_its_shards_and_sets_the_client_up(tmp_path: Path) -> None:
    jobs = loaded(WORKFLOW)["jobs"]
    setup = next(step for step in jobs["certify"]["steps"] if step.get("name") == "Set up the client")
    job = Job(tmp_path, {"matrix.release": "2.0", **inputs(WORKFLOW, shards="3", setup='echo "$RELEASE" > installed\nfalse\ntouch gone-on')})

    assert job.run(jobs["plan"]["steps"]) == 0
    assert json.loads(job.outputs["steps.plan.outputs.shards"]) == [1, 2, 3]
    assert job.run([setup]) == 1
    assert (tmp_path / "installed").read_text() == "2.0\n"
    assert not (tmp_path / "gone-on").exists()


def test_shards_of_which_none_came_to_a_report_are_no_pass(tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    done = subprocess.run(
        [ROOT / "ci/action/join", "shards", "shards", "out"], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False
    )

    assert done.returncode == 4
    assert "there is no report in shards" in done.stderr


def gitlab(job: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a job of the template as GitLab's runner does, with the variables of what it extends."""
    jobs = loaded("ci/gitlab.yml")
    chain = [jobs[job]]
    while "extends" in chain[0]:
        chain.insert(0, jobs[chain[0]["extends"]])
    merged: dict[str, Any] = {}
    for item in chain:
        merged |= item | {"variables": merged.get("variables", {}) | item.get("variables", {})}
    env = {"PATH": os.environ["PATH"], "CI_PROJECT_DIR": str(folder), "ASKED": os.environ.get("ASKED", ""), **variables}
    fields = {key: _expanded(value, env) for key, value in merged["variables"].items()}
    script = "\n".join([*merged["before_script"], *merged["script"]])
    return subprocess.run(["sh", "-e", "-c", script], cwd=folder, env=fields | env, capture_output=True, text=True, timeout=300, check=False)


def _expanded(value: str, env: dict[str, str]) -> str:
    for name, of in env.items():
        value = value.replace(f"${name}", of)
    return value


@pytest.mark.parametrize(
    ("job", "variables", "asked"),
    [
        (".groupproof", {"GROUPPROOF_SUBJECT": "kafka-python@3.0.12"}, "certify client --output reports/groupproof kafka-python@3.0.12"),
        (
            ".groupproof",
            {"GROUPPROOF_PROGRAM": 'python "shim.py"', "GROUPPROOF_OPTIONS": "--baseline old.json"},
            "certify client --output reports/groupproof --baseline old.json -- python shim.py",
        ),
        (
            ".groupproof-shard",
            {"GROUPPROOF_SUBJECT": "aiokafka", "CI_NODE_INDEX": "2", "CI_NODE_TOTAL": "4"},
            "certify client --output reports/shard-2 --shard 2/4 aiokafka",
        ),
        (".groupproof-join", {}, "report reports/shard-1 reports/shard-2 --output reports"),
    ],
)
def test_gitlabs_jobs_ask_for_what_their_variables_say(job: str, variables: dict[str, str], asked: str, fake: Path, tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / "reports" / f"shard-{number}").mkdir(parents=True)

    done = gitlab(job, tmp_path, **variables)

    assert (done.returncode, " ".join(fake.read_text().split())) == (0, asked), done.stderr
    assert gitlab(job, tmp_path, **variables, FAKE_CODE="2").returncode == 2
