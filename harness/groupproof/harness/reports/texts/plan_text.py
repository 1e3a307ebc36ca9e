"""A plan in words: what the kit does to the client, step by step, so that a reader can do the same. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groupproof.harness.model.plan import (
    Append,
    Arm,
    Await,
    BreakBroker,
    Command,
    Condition,
    ConfigureGroup,
    Freeze,
    GroupSettled,
    Grow,
    Heal,
    Impair,
    Kill,
    Mark,
    Matches,
    Member,
    Mend,
    MoveCoordinator,
    Pass,
    Plan,
    Reconciled,
    Release,
    Stable,
    Start,
    Step,
    Thaw,
)  # fmt: skip
from groupproof.harness.reports.pictures.svg import time_label
from groupproof.protocol.faults import Answer, Corrupt, Cut, Drop, Duplicate, Fault, Hold, Move, Reorder, Selector, Silence
from groupproof.protocol.toxics import DOWNSTREAM, TOXICS, Toxic
from groupproof.protocol.vocabulary import error_named

__all__ = ["condition_in_words", "fault_in_words", "impairment_in_words", "members_in_words", "plan_in_words"]


def plan_in_words(plan: Plan) -> list[str]:
    """Return one sentence for each step."""
    return [_STEPS[type(step)](step) for step in plan.steps]


def members_in_words(plan: Plan) -> list[str]:
    """Return one sentence for each member, with its settings."""
    return [_member(member) for member in plan.members]


def _member(member: Member) -> str:
    who = "the client under test" if member.kind == "subject" else "the kit's own member"
    return f"{member.name}: {who}{_settings(member.settings)}"


def _settings(settings: Mapping[str, Any]) -> str:
    return f", {', '.join(f'{name}={value}' for name, value in settings.items())}" if settings else ""


def fault_in_words(fault: Fault) -> str:
    """Return what a fault does to which frame."""
    action, frame = fault.action, _frame(fault.selector)
    is_answer = fault.selector.direction == "response"
    if isinstance(action, Answer):
        code = f"{action.error_code} {error_named(action.error_code)}"
        return f"replaces {frame} by {code}" if is_answer else f"answers {frame} with {code}"
    if isinstance(action, Hold):
        return f"holds {frame}" + ("" if action.ms is None else f" for {time_label(action.ms)}")
    if isinstance(action, Silence):
        return f"lets the connection fall silent from {frame} on"
    if isinstance(action, Cut):
        how = "resets" if action.reset else "cuts"
        return f"{how} the connection after the coordinator acted, before {frame} leaves" if is_answer else f"{how} the connection at {frame}, unseen"
    if isinstance(action, Duplicate):
        return f"lets the coordinator process {frame} twice"
    if isinstance(action, Drop):
        return f"swallows {frame}"
    if isinstance(action, Corrupt):
        return f"changes {action.bytes} bytes in {frame} (seed {action.seed})"
    if isinstance(action, Reorder):
        return f"keeps {frame} until such a one has passed on another connection" + (
            "" if action.ms is None else f", at most {time_label(action.ms)}"
        )
    return f"{_move(action)} before {frame}"


def _frame(selector: Selector) -> str:
    frame = f"answer to {selector.api}" if selector.direction == "response" else selector.api
    named = ("generation", "member_epoch", "role", "state", "member", "instance", "node")
    where = ", ".join(f"{name} {value}" for name in named if (value := getattr(selector, name)) is not None)
    assigned = f"that assigns {selector.assigned} partition{'' if selector.assigned == 1 else 's'}" if selector.assigned is not None else ""
    error = f"that says {error_named(selector.error)}" if selector.error is not None else ""
    return " ".join(
        filter(None, (_which(selector), frame, error, assigned, f"of {selector.client}" if selector.client else "", f"({where})" if where else ""))
    )


def _which(selector: Selector) -> str:
    if selector.count is None:
        return "every" if selector.nth == 1 else f"every (from number {selector.nth} on)"
    first = (
        "the next"
        if selector.nth == 1
        else f"(from number {selector.nth} on) the next"
        if selector.count > 1
        else f"number {selector.nth} of the next"
    )
    return first if selector.count == 1 else f"{first} {selector.count}"


def _move(move: Move | MoveCoordinator) -> str:
    to = "" if move.to is None else f" to node {move.to}"
    parked = "parked requests are answered NOT_COORDINATOR" if move.parked == "answer" else "connections of parked requests are closed"
    state = "" if move.state == "kept" else ", and the group's state is lost"
    return f"moves the coordinator{to} ({parked}{state})"


def _await(step: Await) -> str:
    patience = " and go on without" if step.go_on else ""
    return f"Wait until {condition_in_words(step.until)}, at most {time_label(step.within_ms)}{patience}."


def condition_in_words(condition: Condition) -> str:
    """Return what a plan waits for."""
    after = f" after {condition.after!r}" if condition.after is not None else ""
    if isinstance(condition, Stable):
        return f"the group is stable with {', '.join(condition.members)}{after}"
    if isinstance(condition, GroupSettled):
        return f"{', '.join(condition.members)} share all partitions, know it and heartbeat{after}"
    if isinstance(condition, Reconciled):
        return f"{', '.join(condition.members)} share all partitions at one epoch, and have reported it{after}"
    return f"{_condition_text(condition)}{f' {condition.count} times' if condition.count > 1 else ''}{after}"


def _condition_text(condition: Matches) -> str:
    who = condition.client or "a member"
    if condition.kind_of == "fault":
        return f"fault {condition.fault or 'of any name'} is {condition.where.get('stage', 'delivered')}"
    if condition.kind_of == "transition":
        return f"the group becomes {condition.state_after or 'something else'}"
    where = {name: value for name, value in condition.where.items() if value is not None}
    with_ = f" with {', '.join(f'{name}={value}' for name, value in where.items())}" if where else ""
    if condition.kind_of == "event":
        return f"the application of {who} reports {condition.event or 'something'}{with_}"
    code = f" by {condition.error} {error_named(condition.error)}" if condition.error is not None else ""
    verbs = {"request": f"{who} sends", "processed": f"the coordinator processes {who}'s", "response": f"{who} is answered{code}, to its"}
    return f"{verbs.get(condition.kind_of, condition.kind_of)} {condition.api or 'request'}{with_}"


def _command(step: Command) -> str:
    waiting = "" if step.wait else ", and don't wait for its answer"
    return f"Tell {step.member} to {step.command}{_settings(step.fields)}{waiting}."


def _impair(step: Impair) -> str:
    members = ", ".join(step.members) or "all members"
    nodes = f"broker {', '.join(map(str, step.nodes))}" if step.nodes else "all brokers"
    return f"Impair the way between {members} and {nodes} ({step.name}): {'; '.join(map(impairment_in_words, step.toxics))}."


def impairment_in_words(of: Toxic) -> str:
    """Return what a toxic does to which stream of which connections."""
    text = _TOXICS[of.kind].format_map({name: of.attributes.get(name, 0) for name in TOXICS[of.kind]})
    way = "" if of.kind == "down" else ", to the client" if of.stream == DOWNSTREAM else ", to the broker"
    return f"{text}{way}{'' if of.toxicity == 1 else f', on {of.toxicity:.0%} of the connections'}"


_TOXICS = {
    "latency": "{latency} ms late, give or take {jitter} ms",
    "bandwidth": "{rate} KB a second",
    "slow_close": "the end of a connection {delay} ms late",
    "timeout": "nothing goes through, and connections close after {timeout} ms (0: never)",
    "reset_peer": "connections are reset after {timeout} ms",
    "slicer": "in pieces of about {average_size} bytes, give or take {size_variation}, {delay} µs apart",
    "limit_data": "connections close after {bytes} bytes",
    "down": "connections are cut and refused",
}
_BROKEN = {"pause": "Pause", "kill": "Kill", "slow-disk": "Slow down the disk of"}

_STEPS: dict[type[Step], Callable[[Any], str]] = {
    Start: lambda step: f"Start {step.member} and subscribe it.",
    Await: _await,
    Arm: lambda step: f"Arm fault {step.fault.name}: it {fault_in_words(step.fault)}.",
    Release: lambda step: f"Let go what fault {step.fault} holds.",
    Heal: lambda step: f"Heal fault {step.fault}.",
    Command: _command,
    Kill: lambda step: f"Kill {step.member} without a clean close.",
    Freeze: lambda step: f"Freeze {step.member}'s process.",
    Thaw: lambda step: f"Let {step.member}'s process continue.",
    MoveCoordinator: lambda step: f"The kit {_move(step)}.",
    Impair: _impair,
    BreakBroker: lambda step: f"{_BROKEN.get(step.how, step.how)} {'the coordinator' if step.node is None else f'broker {step.node}'} ({step.name}).",
    Mend: lambda step: f"Mend {step.name}.",
    Append: lambda step: f"Append {step.records} records to each partition of {step.topic}.",
    Grow: lambda step: f"Give topic {step.topic} {step.partitions} partitions.",
    ConfigureGroup: lambda step: f"Give the group settings of its own: {', '.join(f'{name}={value}' for name, value in step.settings.items())}.",
    Pass: lambda step: f"Let {time_label(step.ms)} pass.",
    Mark: lambda step: f"Mark this instant as {step.name!r}.",
}
