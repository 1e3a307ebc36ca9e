"""The functions behind the words of a dialect: what the engine calls when a row of its table is applied. The other half of a `Dialect`."""

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
    """Reads the settings of one group."""

    def __call__(
        self, settings: Settings, fields: Mapping[str, int], group_id: str, configs: Mapping[str, str], /
    ) -> tuple[ErrorCode, dict[str, int]]: ...


class ConfigDefaults(Protocol):
    """Tells the settings that a group may have for itself, with the broker's values."""

    def __call__(self, settings: Settings, fields: Mapping[str, int], /) -> dict[str, int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFunctions:
    """How a request about one group becomes an event: of which `kind` and class it is, and what `fill` puts into it of what the request says.

    With `asks_offsets` False no rule of the kind looks at offsets. `at_rest` returns the member's session in ms where the request, taken up at an instant, cannot change more of the
    group than how long that lasts, as it is with nearly every heartbeat; None where it may. `again_at_rest` returns the same, given what it was, of a request that
    was at rest before in a group of the same state, generation and configs, so that what it says need not be looked at; None where `at_rest` is to be asked. `undoes` applies the request's row where that may fail, and leaves nothing of one that did.
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
    """By which of its fields alone a request is told from others of its kind, so that rows need not be asked that are for none like it.

    The classes have the numbers from 1 to `count`; of class 0 nothing is known. `rules_out` says whether a guard holds for no request of a class.
    """

    count: int
    rules_out: Callable[[GuardName, int], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainCommitRules:
    """Which OffsetCommits of members a group of the dialect stores whatever else there is: those that `is_plain` tells. Guards that are `ruled_out` hold for none of them."""

    is_plain: Callable[[Any, Any, Arrival], bool]
    ruled_out: frozenset[GuardName]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DialectFunctions:
    """What the words of `dialect` do: one function for each guard, answer and effect, and no other.

    `group` makes a group of the dialect out of its id and the time, `event` an event that no request brings. `requests` are the messages that are about
    one group, `batches` those that are about several. `error_answer` says an error
    code in the shape of a request's answer. `gate` are the guards that hold only where the coordinator cannot look at the group; `quiet` the kinds that
    are not recorded where their row does nothing. `planted` are its bugs and its legal deviations beside those that are made from the rules.
    `restored` makes a group of what was stored of it, by the type of the record. `hear_of_topics` tells a group which topics changed; `check_config` reads the settings
    that one group is to have for itself, or says why it may not have them, where groups of the dialect may have any; `config_defaults` are what a group goes by without. `classes` are those of the requests of a kind, where it has some;
    `plain_commits` the OffsetCommits that change nothing of a group, where the classic dialect does not say so.
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
    hear_of_topics: Callable[[Any, frozenset[str]], None] = lambda group, names: None
    check_config: CheckConfig | None = None
    config_defaults: ConfigDefaults | None = None
    classes: Mapping[EventKind, RequestClasses] = field(default_factory=dict)
    plain_commits: PlainCommitRules | None = None
