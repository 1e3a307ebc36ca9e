"""A group's own settings: bounds, refusals, and when they apply (CGD-29 to CGD-34, CGD-38, CGD-40)."""

from __future__ import annotations

from typing import Final

from groupproof.harness.cases.coordinator.consumer.consumer_builders import GONE_BY, SMALL, after_half, consumer_case, with_topics_known
from groupproof.harness.cases.coordinator.coordinator_case_builders import passing
from groupproof.harness.model.case import Case
from groupproof.harness.model.consumer_script_builders import beat, configure, describe, describe_configs, join
from groupproof.harness.model.script import Group

__all__ = ["CASES"]

_SESSION: Final = "consumer.session.timeout.ms"
_INTERVAL: Final = "consumer.heartbeat.interval.ms"
_INVALID_CONFIG: Final = 40
_INVALID_REQUEST: Final = 42

_REFUSED: Final = (
    ("session-below-the-least", "a session timeout below the least that the broker allows", "CGD-30", {_SESSION: "44999"}),
    ("session-above-the-most", "a session timeout above the most that the broker allows", "CGD-30", {_SESSION: "60001"}),
    ("interval-below-the-least", "a heartbeat interval below the least that the broker allows", "CGD-31", {_INTERVAL: "4999"}),
    ("interval-above-the-most", "a heartbeat interval above the most that the broker allows", "CGD-31", {_INTERVAL: "15001"}),
    ("unknown-name", "a setting that there is not", "CGD-33", {"consumer.no.such.setting": "1"}),
    ("no-number", "a session timeout that is no number", "CGD-30", {_SESSION: "soon"}),
)

# Settings reach a group's coordinator through the cluster's metadata, as topics do.
CASES: Final[tuple[Case, ...]] = (
    *(
        consumer_case(
            f"config/{name}",
            f"refuses {words} with 40, and leaves the group as it was",
            (requirement,),
            join("a"),
            with_topics_known(configure("z", configs, code=_INVALID_CONFIG)),
            describe_configs("z", code=0),
            beat("a", code=0),
        )
        for name, words, requirement, configs in _REFUSED
    ),
    consumer_case(
        "config/one-of-two-is-refused",
        "takes none of several settings of which one is refused",
        ("CGD-30", "CGD-31", "CGD-40"),
        join("a"),
        with_topics_known(configure("z", {_INTERVAL: "6000", _SESSION: "44999"}, code=_INVALID_CONFIG)),
        beat("a", code=0),
    ),
    consumer_case(
        "config/no-name",
        "refuses settings for a group without a name with 42",
        ("CGD-34",),
        configure("z", {_INTERVAL: "6000"}, group="", code=_INVALID_REQUEST),
    ),
    consumer_case(
        "config/heartbeat-interval",
        "tells the members of a group its own heartbeat interval with their next heartbeat, and counts no epoch up",
        ("CGD-29", "CGD-40"),
        join("a"),
        with_topics_known(configure("z", {_INTERVAL: "6000"}, code=0)),
        describe_configs("z", code=0),
        beat("a", code=0),
        describe("z", code=0),
    ),
    consumer_case(
        "config/before-the-group",
        "lets a group that is still to come have settings of its own",
        ("CGD-29", "CGD-40"),
        with_topics_known(configure("z", {_INTERVAL: "7000"}, code=0)),
        join("a", code=0),
        beat("a", code=0),
    ),
    consumer_case(
        "config/taken-away",
        "goes by the broker's own setting again when a group's is taken away",
        ("CGD-29", "CGD-40"),
        join("a"),
        with_topics_known(configure("z", {_INTERVAL: "6000"}, code=0)),
        beat("a", code=0),
        with_topics_known(configure("z", {_INTERVAL: None}, code=0)),
        beat("a", code=0),
        describe_configs("z", code=0),
    ),
    consumer_case(
        "config/only-checked",
        "changes nothing where settings are only to be checked",
        ("CGD-29", "CGD-30", "CGD-40"),
        join("a"),
        configure("z", {_INTERVAL: "6000"}, only_checks=True, code=0),
        with_topics_known(configure("z", {_INTERVAL: "4999"}, only_checks=True, code=_INVALID_CONFIG)),
        beat("a", code=0),
    ),
    consumer_case(
        "config/of-one-group-alone",
        "goes by a group's own settings in that group alone",
        ("CGD-29",),
        join("a"),
        join("b", group_id=Group("h")),
        with_topics_known(configure("z", {_INTERVAL: "9000"}, code=0)),
        beat("a", code=0),
        beat("b", group_id=Group("h"), code=0),
    ),
    consumer_case(
        "config/session-timeout",
        "ends the session of a member by the group's own timeout",
        ("CGD-29", "CGD-40", "CGM-40"),
        with_topics_known(configure("z", {_SESSION: "6000"}, code=0)),
        join("a", code=0),
        GONE_BY,
        beat("a", code=0),
        passing(8_000),
        beat("a", code=25),
        settings=SMALL,
    ),
    consumer_case(
        "config/shorter-session",
        "goes by a shorter session timeout of the group from a member's next heartbeat on",
        ("CGD-29", "CGD-40"),
        join("a"),
        with_topics_known(configure("z", {_SESSION: "1500", _INTERVAL: "600"}, code=0)),
        beat("a", code=0),
        after_half(beat("a", code=25)),
        settings=SMALL,
    ),
    consumer_case(
        "config/session-not-above-the-interval",
        "refuses a session timeout that is not above the heartbeat interval, the broker's own counting where the group has none",
        ("CGD-32",),
        configure("z", {_SESSION: "1000"}, code=_INVALID_CONFIG),
        configure("z", {_SESSION: "1000", _INTERVAL: "600"}, code=0),
        configure("z", {_INTERVAL: "1000"}, code=_INVALID_CONFIG),
        settings=SMALL,
    ),
)
