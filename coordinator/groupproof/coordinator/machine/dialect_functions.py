"""The functions behind the words of a dialect, which the engine calls for the rows of its table. They complete a `Dialect`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from groupproof.coordinator.machine.any_group import AnyGroup
    from groupproof.coordinator.machine.coordinator_settings import Settings
    from groupproof.coordinator.machine.effect_context import EffectContext
    from groupproof.coordinator.machine.event import Event
    from groupproof.coordinator.machine.group_batches import Batch
    from groupproof.coordinator.machine.machine_outputs import Arrival
    from groupproof.coordinator.machine.variant import Variant
    from groupproof.protocol.rules.cells import AnswerName, EffectName, EventKind, GuardName
    from groupproof.protocol.rules.dialect import Dialect
    from groupproof.protocol.vocabulary import ErrorCode

__all__ = ["CheckConfig", "ConfigDefaults", "DialectFunctions", "PlainCommitRules", "RequestClasses", "RequestFunctions"]


class CheckConfig(Protocol):
    """Parses and checks the settings of one group."""

    def __call__(
        self, settings: Settings, fields: Mapping[str, int], group_id: str, configs: Mapping[str, str], /
    ) -> tuple[ErrorCode, dict[str, int]]: ...


class ConfigDefaults(Protocol):
    """Returns the group settings with the broker's values as defaults."""

    def __call__(self, settings: Settings, fields: Mapping[str, int], /) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFunctions:
    """How a request about one group becomes an event of a `kind` and a class. `fill` copies the request's fields into it.

    `asks_offsets` is False where no rule of the kind reads offsets. `at_rest` returns the member's session in ms for a request that can only extend
    that session, as nearly every heartbeat does; None where it may change more. `again_at_rest` returns the same for a request that was at rest
    before, in a group of the same state, generation and configs, given the previous session, so that the request's content need not be checked; None
    where `at_rest` must decide. `undoes` applies the request's row where that can fail, and undoes a failed one.
    """

    kind: EventKind
    event: type[Event]
    fill: Callable[[Any, Any], None]
    asks_offsets: bool = True
    undoes: Callable[[Any, Any], None] | None = None
    at_rest: Callable[[EffectContext, Any, Any, Arrival, int], int | None] | None = None
    again_at_rest: Callable[[Any, Any, Arrival, int], int | None] = lambda group, message, arrival, session_ms: None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestClasses:
    """Classes of requests of one kind, by their fields alone, so that rows that cannot apply to a class are skipped.

    Classes are numbered from 1 to `count`; class 0 is unknown. `rules_out` returns whether a guard holds for no request of a class.
    """

    count: int
    rules_out: Callable[[GuardName, int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommitRules:
    """The OffsetCommits that a group of the dialect always stores: `is_plain` selects them. The guards in `ruled_out` hold for none of them."""

    is_plain: Callable[[Any, Any, Arrival], bool]
    ruled_out: frozenset[GuardName]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectFunctions:
    """The functions for the words of `dialect`: exactly one for each guard, answer and effect.

    `group` makes a group of the dialect from its id and the time; `event` is the class of events that no request causes. `requests` are the message
    types about one group, `batches` those about several. `error_answer` makes an error answer in the shape of the request's response. `gate` are the
    guards that hold only where the coordinator cannot look up the group. `quiet` are the kinds that are not recorded where their row does nothing.
    `planted` are the dialect's bugs and legal deviations, beside those made from the rules. `restored` makes a group from a stored record, by record
    type. `notify_topics_changed` notifies a group of changed topics. `check_config` checks and parses the settings of one group, where groups of the dialect
    have settings; `config_defaults` are the defaults. `classes` are the request classes of a kind, where it has some; `plain_commits` the
    OffsetCommits that do not change a group, where its dialect is not classic.
    """

    dialect: Dialect
    guards: Mapping[GuardName, Callable[[Any], bool]]
    answers: Mapping[AnswerName, Callable[[Any], Any]]
    effects: Mapping[EffectName, Callable[[Any, Any], None]]
    group: Callable[[str, int], AnyGroup]
    event: type[Event]
    error_answer: Callable[[Any, ErrorCode, Mapping[str, int]], Any]
    requests: Mapping[type[Any], RequestFunctions]
    batches: Mapping[type[Any], Batch] = field(default_factory=dict)
    gate: frozenset[GuardName] = frozenset()
    quiet: frozenset[EventKind] = frozenset()
    planted: tuple[Variant, ...] = ()
    restored: Mapping[type[Any], Callable[[Any], AnyGroup]] = field(default_factory=dict)
    notify_topics_changed: Callable[[Any, frozenset[str]], None] = lambda group, names: None
    check_config: CheckConfig | None = None
    config_defaults: ConfigDefaults | None = None
    classes: Mapping[EventKind, RequestClasses] = field(default_factory=dict)
    plain_commits: PlainCommitRules | None = None
