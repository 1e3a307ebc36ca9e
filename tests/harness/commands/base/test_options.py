from __future__ import annotations

import click
import pytest
from tests.harness.commands.calling import Call

from groupproof.harness.commands.base.options import ProgramCommand, program_of, seed_of


@pytest.mark.parametrize(("text", "seed"), [("7", 7), ("0x1f", 31), ("0123456789abcdef0123456789abcdef01234567", 0x0123456789ABCDEF)])
def test_a_seed_is_an_integer_or_a_commit(text: str, seed: int) -> None:
    assert seed_of(text) == seed


def test_what_stands_behind_two_dashes_is_the_programs_own() -> None:
    @click.command(cls=ProgramCommand)
    @click.option("--level")
    @click.pass_context
    def command(ctx: click.Context, /, level: str) -> tuple[str, tuple[str, ...]]:
        return level, program_of(ctx)

    assert command.main(["--level", "must", "--", "python", "shim.py", "--level", "x"], standalone_mode=False) == (
        "must",
        ("python", "shim.py", "--level", "x"),
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--properties", "client.properties"], "plaintext"),
        (["--group-prefix", "ci-"], "each case has a coordinator of its own"),
        (["--faults", "toxiproxy"], "not in this release"),
        (["--catalogue", "9.9"], "install groupproof 9.9"),
        (["--fail-on", "strictness"], "it takes non-strict and unclean"),
        (["--seed", "today"], "'today' is no seed"),
        (["--hold", "heartbeat/classic/steady"], "the reference runs inside groupproof"),
        (["--shim-level", "1", "--only", "heartbeet"], "matches no case and no requirement"),
        (["--profile", "kafka-4"], "did you mean kafka-4.4"),
        (["--profile", "zookeeper"], "there are kafka-1.1"),
        (["--expect", "nowhere.toml"], "can't read the expectations nowhere.toml"),
        (["--level", "may"], "'may' is not one of"),
        (["--shard", "5/4"], "shards are counted from 1"),
        (["--only", "heartbeat/classic/steady", "--shard", "1/4"], "the selection has 1 cases, fewer than there are shards"),
        (["--baseline", "nowhere.json"], "can't read nowhere.json"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused_in_one_line(arguments: list[str], message: str, groupproof: Call) -> None:
    called = groupproof("certify", "client", "groupproof", *arguments)

    assert called.code == 3
    assert message in called.complaint


@pytest.mark.parametrize(
    ("arguments", "message"), [([], "name either"), (["--"], "there is nothing after --"), (["kafka-python", "--", "x"], "name either")]
)
def test_a_subject_is_named_once(arguments: list[str], message: str, groupproof: Call) -> None:
    called = groupproof("certify", "client", *arguments)

    assert called.code == 3
    assert message in called.complaint
