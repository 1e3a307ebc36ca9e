"""The shared options of the commands that run cases, and the classes that hold their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

if TYPE_CHECKING:
    from groupproof.harness.judging.summary.shards import Share

__all__ = [
    "NEWEST_PROFILE", "SET", "ProgramCommand", "RunOptions", "broker_options", "common_options", "program_of", "run_options", "seed_of",
    "with_options",
]  # fmt: skip

NEWEST_PROFILE: Final = "kafka-4.1"

_COMMIT_DIGITS = 40
_FAIL_ON = ("non-strict", "unclean")
_PROGRAM = "groupproof.program"

Command = TypeVar("Command", bound=Callable[..., Any])


class ProgramCommand(click.Command):
    """A command that gets a program's command line after `--`, unchanged; `program_of` returns it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            at = args.index("--")
            ctx.meta[_PROGRAM] = tuple(args[at + 1 :])
            args = args[:at]
            if not ctx.meta[_PROGRAM]:
                raise click.UsageError("there is nothing after --; write the program's command line there", ctx)
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[-- PROGRAM ARG...]"]


def program_of(ctx: click.Context) -> tuple[str, ...]:
    """Return the words after `--`; empty without it."""
    program: tuple[str, ...] = ctx.meta.get(_PROGRAM, ())
    return program


def seed_of(value: str) -> int:
    """Return a seed from an integer, decimal or hexadecimal, or from a commit's 40 hex digits, so that CI can use a new seed per commit."""
    try:
        return int(value, 16) >> 96 if len(value) == _COMMIT_DIGITS else int(value, 0)
    except ValueError:
        raise click.BadParameter(f"{value!r} is no seed; write an integer such as 7 or 0x1f, or a commit's 40 hex digits") from None


def _causes(value: str) -> frozenset[str]:
    """Return the comma-separated causes that fail a run beyond the protocol's MUSTs."""
    causes = frozenset(part.strip() for part in value.split(",") if part.strip())
    if unknown := causes - set(_FAIL_ON):
        raise click.BadParameter(f"{', '.join(sorted(unknown))}: unknown; it takes {' and '.join(_FAIL_ON)}, separated by a comma")
    return causes


def _share(value: str) -> Share:
    from groupproof.harness.judging.summary.shards import Share

    try:
        return Share.read(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options' values; None where the default depends on the subject. Options of the other side have their defaults."""

    profile: str | None
    only: tuple[str, ...]
    skip: tuple[str, ...]
    level: str
    seed: int
    jobs: int | None
    timeout: float | None
    expect: tuple[Path, ...]
    fail_on: frozenset[str]
    output: Path | None
    as_json: bool
    baseline: Path | None = None
    shard: Share | None = None
    durations: Path | None = None
    shim_level: str | None = None
    hold: str | None = None
    bind: str = "127.0.0.1"
    advertise: str | None = None
    properties: Path | None = None
    group_prefix: str = ""
    by_hand: tuple[str, ...] = ()
    variant: str | None = None
    bundle: Path | None = None
    sign: Path | None = None


Option = Callable[[Any], Any]


def common_options(*, profile: str, jobs: str, subject: str) -> tuple[Option, ...]:
    """Return the options of all commands that run cases; `profile` and `jobs` describe these two, and `subject` what the expectations ship with."""
    return (
        click.option("--profile", metavar="P", help=profile),
        click.option("--only", metavar="PATTERN", multiple=True, help="Select cases by case or requirement id, prefix or glob; repeatable."),
        click.option("--skip", metavar="PATTERN", multiple=True, help="Exclude cases, in the same way; repeatable."),
        click.option("--level", type=click.Choice(["must", "should", "info"]), default="info", show_default=True, help="The lowest level to include."),
        click.option("--seed", type=seed_of, metavar="N", default="1", show_default=True, help="The same seed gives the same schedule."),
        click.option("--jobs", type=click.IntRange(min=1), metavar="N", help=f"How many cases run side by side.  [default: {jobs}]"),
        click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="S", help="The maximum time for the steps of a case.  [default: 120]"),
        click.option("--expect", type=click.Path(path_type=Path), metavar="FILE", multiple=True,
                     help=f"A file of known failures; repeatable. It replaces the file that ships with a registered {subject}."),
        click.option("--fail-on", type=_causes, default="", metavar="CAUSES", help="non-strict, unclean, or both, separated by a comma: these also fail the run."),
        click.option("--baseline", type=click.Path(path_type=Path), metavar="REPORT",
                     help="An earlier report.json: its failures do not fail the run. A case that is no longer OK, fails newly, or is missing fails the run."),
        click.option("--shard", type=_share, metavar="K/N", help="Run the K-th of N parts, of about the same length; groupproof report joins them."),
        click.option("--durations", type=click.Path(path_type=Path), metavar="REPORT", help="The report whose durations divide the cases.  [default: the durations that ship]"),
        click.option("--output", type=click.Path(path_type=Path), metavar="DIR", help="The folder for the report.  [default: reports/NAME-RELEASE]"),
        click.option("--json", "as_json", is_flag=True, help="Print the report as JSON on stdout, and nothing else there."),
    )  # fmt: skip


SET: Option = click.option(
    "--set", "by_hand", metavar="NAME=VALUE", multiple=True,
    help="A setting of HOST:PORT, such as group.max.size=100, if the broker does not report its settings; repeatable. The reference uses it too.",
)  # fmt: skip

_BUNDLED: tuple[Option, ...] = (
    click.option("--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Also write a certificate, such as out.tar.zst, for groupproof verify."),
    click.option("--sign", type=click.Path(path_type=Path), metavar="KEY", help="Sign the certificate with this SSH key, or with its .pub if ssh-agent has the key."),
)  # fmt: skip

_OF_CLIENTS: tuple[Option, ...] = (
    *common_options(
        profile=f"The broker release that the reference coordinator plays.  [default: {NEWEST_PROFILE}, or the newest that the client speaks to]", jobs="by the client's weight", subject="client"
    ),
    click.option("--shim-level", type=click.Choice(["0", "1"]), help="The shim level of a program: 0 is the options and events of Kafka's VerifiableConsumer, 1 is the shim contract.  [default: 1]"),
    click.option("--hold", metavar="CASE", help="Run only this case, print the shim's command line, stop the timers and wait for a debugger."),
    click.option("--bind", default="127.0.0.1", show_default=True, metavar="HOST", help="Where the coordinators listen."),
    click.option("--advertise", metavar="HOST", help="The host that clients connect to, when that differs (containers)."),
    *_BUNDLED,
)  # fmt: skip

_OF_COORDINATORS: tuple[Option, ...] = (
    *common_options(
        profile="The broker release by whose rules it is judged.  [default: the subject's own, of HOST:PORT the one that its ApiVersions are most like]",
        jobs="64", subject="coordinator",
    ),
    click.option("--properties", type=click.Path(path_type=Path), metavar="FILE", help="The client.properties to connect to HOST:PORT (TLS, SASL), as for Kafka's own clients."),
    click.option("--group-prefix", default="groupproof-", show_default=True, metavar="P", help="The prefix of all groups and topics that are created."),
    SET,
    click.option("--variant", metavar="NAME", hidden=True, help="Put a planted bug, or a legal variant, into the reference coordinator."),
    *_BUNDLED,
)  # fmt: skip

# The contract's common options that a side does not support, with the reason.
_REFUSED_BY_CLIENTS: dict[str, tuple[str, str]] = {
    "--properties": ("FILE", "a client is certified against the reference coordinator, which speaks plaintext; there is nothing to authenticate to"),
    "--group-prefix": ("P", "each case has a coordinator of its own, so that its groups meet no others; only a shared broker needs a prefix"),
}
_REFUSED_BY_COORDINATORS: dict[str, tuple[str, str]] = {
    "--shim-level": ("N", "a coordinator is spoken to on the wire, by no shim"),
    "--hold": ("CASE", "a broker's time cannot be stopped"),
    "--bind": ("HOST", "the kit connects to the coordinator and listens nowhere"),
    "--advertise": ("HOST", "the kit connects to the coordinator and listens nowhere"),
}


def _refused(name: str, metavar: str, reason: str) -> Option:
    def refuse(ctx: click.Context, parameter: click.Parameter, value: object) -> None:
        if value is not None:
            raise click.UsageError(f"{name} does nothing here: {reason}; leave it out", ctx)

    return click.option(name, metavar=metavar, expose_value=False, callback=refuse, hidden=True)


def _only_frames(ctx: click.Context, parameter: click.Parameter, value: str) -> None:
    if value != "frames":
        raise click.UsageError("--faults toxiproxy is not in this release; the cases inject their faults by frame: leave --faults out", ctx)


def _own_catalogue(ctx: click.Context, parameter: click.Parameter, value: str | None) -> None:
    from groupproof.protocol.kit_release import release

    if value not in (None, release()):
        raise click.UsageError(
            f"this kit has only the catalogue of {release()} alone, not {value}; install groupproof {value} to judge by that one", ctx
        )


def _hidden(refused: Mapping[str, tuple[str, str]]) -> Iterator[Option]:
    for name, (metavar, reason) in refused.items():
        yield _refused(name, metavar, reason)
    faults = click.Choice(["frames", "toxiproxy"])
    yield click.option(
        "--faults", type=faults, default="frames", show_default=True, expose_value=False, callback=_only_frames, help="How faults are injected."
    )
    yield click.option("--catalogue", metavar="VERSION", expose_value=False, callback=_own_catalogue, help="Require the rules of this release.")


def run_options(command: Command) -> Command:
    """Add the common options and the clients' to `command`, which gets them as keywords with the names in `RunOptions`."""
    return with_options(command, (*_OF_CLIENTS, *_hidden(_REFUSED_BY_CLIENTS)))


def broker_options(command: Command) -> Command:
    """Add the common options and the coordinators' to `command` in the same way."""
    return with_options(command, (*_OF_COORDINATORS, *_hidden(_REFUSED_BY_COORDINATORS)))


def with_options(command: Command, options: Sequence[Option]) -> Command:
    """Add these options to `command`, in their order."""
    for option in reversed(options):
        command = option(command)
    return command
