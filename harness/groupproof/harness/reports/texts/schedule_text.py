"""The steps of a case in words, for a plan or a script. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groupproof.harness.model.plan import Plan
from groupproof.harness.model.script import Script
from groupproof.harness.reports.texts.plan_text import members_in_words, plan_in_words
from groupproof.harness.reports.texts.script_text import script_in_words

__all__ = ["course_in_words", "ground_in_words", "setting_in_words"]


def course_in_words(course: Plan | Script) -> list[str]:
    """Return one sentence for each step."""
    return plan_in_words(course) if isinstance(course, Plan) else script_in_words(course)


def setting_in_words(course: Plan | Script) -> list[str]:
    """Return the required brokers and topics, and one line for each broker setting."""
    topics = ", ".join(f"{topic} ({partitions} partitions)" for topic, partitions in course.topics.items())
    brokers = f"{course.brokers} broker{'s' if course.brokers != 1 else ''}"
    records = f", {course.records} records in each partition" if isinstance(course, Plan) else ""
    settings: Mapping[str, Any] = course.coordinator if isinstance(course, Plan) else course.settings
    return [f"{brokers}; topics {topics}{records}", *(f"{setting} = {value}" for setting, value in settings.items())]


def ground_in_words(course: Plan | Script) -> list[str]:
    """Return one sentence for each member of a plan. For a script, whose members are the kit's, return the required brokers, topics and settings."""
    return members_in_words(course) if isinstance(course, Plan) else setting_in_words(course)
