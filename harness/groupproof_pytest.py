"""The pytest plugin's front: options, marker and fixtures, and nothing that costs a session anything which doesn't use them.

It is a module of its own at the top, beside the namespace: pytest marks the packages of a plugin's distribution for its rewriting of asserts, and
one that held the namespace `groupproof` alone would have it take `clients`, `harness`, `coordinator` and `chaos` for them, which are anybody's names.
Everything else is in `groupproof.harness.commands.pytest_plugin`, and is imported where an option, the marker or a fixture asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Generator

    from groupproof.chaos.wire.toxiproxy_fixture import GroupproofToxiproxy
    from groupproof.harness.commands.pytest_plugin.coordinator_fixture import GroupproofCoordinator
    from groupproof.harness.commands.pytest_plugin.group_fixture import GroupproofGroup
    from groupproof.harness.commands.pytest_plugin.trace_fixture import GroupproofTrace

__all__: list[str] = []

OPTIONS: Final = (
    ("client", "SUBJECT", "run the client cases: a shim's command line ('python shim.py') or a registered client (kafka-python@2.2.3)"),
    ("coordinator", "SUBJECT", "run the coordinator cases: HOST:PORT or a registered coordinator (kfake)"),
    ("profile", "P", "the broker release that is played, or by whose rules a coordinator is judged"),
    ("level", "LEVEL", "the mildest level to take: must, should or info (default)"),
    ("seed", "N", "the same seed gives the same schedule (default: 1)"),
    ("jobs", "N", "how many cases run side by side"),
    ("timeout", "S", "the longest a case's steps may take, in seconds (default: 120)"),
    ("shim-level", "N", "how a program is spoken to: 0 as Kafka's VerifiableConsumer, 1 by the shim contract (default)"),
    ("fail-on", "CAUSES", "non-strict, unclean, or both with a comma: they fail a case too"),
    ("output", "DIR", "where the report goes (default: reports/NAME-RELEASE)"),
)  # fmt: skip
"""Option, metavar, help; each is an ini option too, with underscores: `groupproof_client`."""

LISTS: Final = (
    ("only", "PATTERN", "take cases by case or requirement id, prefix or glob; repeatable"),
    ("skip", "PATTERN", "leave cases out, by the same; repeatable"),
    ("expect", "FILE", "a file of known failures; repeatable; in place of those that ship with a registered subject"),
)

MARKER: Final = (
    "groupproof(profile=..., settings={...}, topics={...}, records=..., brokers=..., group=...): what groupproof_coordinator serves in this test: "
    "the broker release, Kafka's broker settings, topics with their partitions, records in each, how many brokers, and the group of groupproof_group"
)

_RUN: Final = "groupproof-cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("groupproof", "groupproof: the cases of Kafka's group protocol")
    for name, metavar, text in OPTIONS:
        group.addoption(f"--groupproof-{name}", metavar=metavar, help=text)
        parser.addini(f"groupproof_{name.replace('-', '_')}", f"the default of --groupproof-{name}", type="string", default="")
    for name, metavar, text in LISTS:
        group.addoption(f"--groupproof-{name}", metavar=metavar, help=text, action="append", default=[])
        parser.addini(f"groupproof_{name}", f"the defaults of --groupproof-{name}, one a line", type="linelist", default=[])


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Raise `UsageError` for wrong usage, before anything runs."""
    config.addinivalue_line("markers", MARKER)
    if _is_asked_for(config):
        from groupproof.harness.commands.pytest_plugin.case_session import CaseSession

        config.pluginmanager.register(CaseSession.of(config), _RUN)


def _is_asked_for(config: pytest.Config) -> bool:
    """Tell whether this session may have cases: who collects a path of his own asks for them on the command line, or not at all."""
    named = [argument for argument in config.args if argument.partition("::")[0] == "groupproof"]
    if any(config.getoption(f"groupproof_{side}") for side in ("client", "coordinator")):
        return True
    if not any(config.getini(f"groupproof_{side}") for side in ("client", "coordinator")):
        if [argument for argument in named if "::" in argument]:
            raise pytest.UsageError(f"{named[0]} is a case, and nobody is under test: say --groupproof-client or --groupproof-coordinator")
        return False
    return bool(named) or config.args_source is not pytest.Config.ArgsSource.ARGS


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the last frames of a test of one's own that failed."""
    report = yield
    trace = getattr(item, "funcargs", {}).get("groupproof_trace") if report.failed else None
    if trace is not None:
        report.sections.append(("groupproof trace", trace.tail()))
    return report


@pytest.fixture
def groupproof_coordinator(request: pytest.FixtureRequest) -> Generator[GroupproofCoordinator]:
    """Serve a reference coordinator on loopback ports; the marker `groupproof` says what."""
    from groupproof.harness.commands.pytest_plugin.coordinator_fixture import served

    marks = list(request.node.iter_markers("groupproof"))
    with served([mark.kwargs for mark in marks], [arg for mark in marks for arg in mark.args]) as coordinator:
        yield coordinator


@pytest.fixture
def groupproof_group(groupproof_coordinator: GroupproofCoordinator) -> Generator[GroupproofGroup]:
    """Give the client under test reference members for company: add, pause, kill, or go step by step."""
    from groupproof.harness.commands.pytest_plugin.group_fixture import GroupproofGroup

    with GroupproofGroup.of(groupproof_coordinator) as group:
        yield group


@pytest.fixture
def groupproof_trace(groupproof_coordinator: GroupproofCoordinator) -> GroupproofTrace:
    """Return what the coordinator has seen so far, with the checkers that judge it."""
    return groupproof_coordinator.trace


@pytest.fixture
def groupproof_toxiproxy(groupproof_coordinator: GroupproofCoordinator) -> Generator[GroupproofToxiproxy]:
    """Put a Toxiproxy before the coordinator, whose `bootstrap` leads through it from now on; skip where there is none."""
    pytest.importorskip("toxiproxy", reason="toxiproxy-python is not installed: pip install 'groupproof[chaos]'")
    from groupproof.chaos.wire.toxiproxy_fixture import GroupproofToxiproxy, NoToxiproxy

    try:
        proxy = GroupproofToxiproxy.before(groupproof_coordinator)
    except NoToxiproxy as reason:
        pytest.skip(f"{reason} (see: groupproof doctor)")
    with proxy:
        yield proxy
