"""Regular expressions of subscriptions as in Kafka's broker: RE2/J's syntax, RE2/J's error messages, matches of whole names (KIP-848). Pure.

RE2 does the matching, in linear time, without look-around and back references. Kafka's RE2/J reads a few constructs differently. The expression is
rewritten for RE2 so that the same expressions are refused, for the same reason. Kafka 4.0 has RE2/J 1.7; 4.1 to 4.4 have 1.8, which also allows named
groups as `(?<name>…)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import re2

__all__ = ["invalid_message", "matching", "regex_problem"]

_TOKEN: Final = re.compile(
    r"\\Q.*?(?:\\E|$)|\\."  # a quotation, an escape
    r"|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"  # a class
    r"|\(\?P?<(?P<name>\w+)>|\(\?<"  # a named group, and an invalid one
    r"|(?P<repetition>\*|\+|\?|\{\d+(?:,\d*)?\})|.",
    re.DOTALL,
)
_ESCAPED_LETTER: Final = re.compile(r"\\([^\x00-\x7f])|(\\.)", re.DOTALL)

# Replacements for expressions that RE2 accepts and RE2/J refuses. RE2 refuses the replacement at the same place, for RE2/J's reason.
_NO_ESCAPE: Final = r"\8"
_NO_GROUP: Final = "(?="
_DUPLICATE: Final = "(?P<!>"
_NESTED: Final = "**"

_REASONS: Final = {
    f"invalid named capture group: {_DUPLICATE}": "duplicate capture group name",
    "invalid perl operator: (?<": "invalid named capture",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid escape sequence": "invalid escape sequence",
    "invalid UTF-8": "invalid escape sequence",  # for an escape at the end of the expression
    "invalid character class range": "invalid character class range",
    "bad repetition operator": "invalid nested repetition operator",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "trailing \\": "trailing backslash at end of expression",
    "unexpected )": "regexp/syntax: internal error",
}
"""RE2's error messages and RE2/J's (com.google.re2j.Parser). The first that matches counts."""

_REPEATS_MAX: Final = 1_000
_OPTIONS: Final = re2.Options()
_OPTIONS.log_errors = False
_OPTIONS.max_mem = 256 << 20  # RE2/J has no memory limit


def regex_problem(regex: str, *, has_named_groups: bool = True) -> str | None:
    """Return RE2/J's error message for an expression, None where it is valid (CGH-22, CGH-23).

    `has_named_groups` says whether the release accepts `(?<name>…)`.
    """
    found = _compiled(regex, has_named_groups=has_named_groups)
    return found if isinstance(found, str) else None


def invalid_message(regex: str, wrong: str) -> str:
    """Return the message of an INVALID_REGULAR_EXPRESSION (Utils.throwIfRegularExpressionIsInvalid)."""
    return f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {wrong}."


def matching(regex: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that a valid expression matches completely (CGX-18)."""
    found = _compiled(regex, has_named_groups=True)
    assert not isinstance(found, str), f"{regex!r} was refused when it came: {found}"
    return frozenset(name for name in names if found.fullmatch(name))


@lru_cache(maxsize=1024)
def _compiled(regex: str, *, has_named_groups: bool) -> Any:
    """Return RE2's compiled expression, or RE2/J's error message."""
    try:
        return re2.compile(_for_re2(regex, has_named_groups=has_named_groups), _OPTIONS)
    except re2.error as refusal:
        complaint = refusal.args[0].decode("utf-8", "replace")
        return next((reason for words, reason in _REASONS.items() if complaint.startswith(words)), complaint)


def _repeated(repetition: str, *, after: str) -> str:
    """Return a repetition that follows another one. RE2/J checks the counts first, and treats a brace that opens no repetition as one here."""
    if _is_out_of_bounds(repetition):
        return f"(?:){repetition}"
    return _NESTED if after == "{" else repetition


def _is_repetition(part: str) -> bool:
    found = _TOKEN.fullmatch(part)
    return found is not None and found["repetition"] is not None


def _is_out_of_bounds(repetition: str) -> bool:
    counts = [int(count) for count in re.findall(r"\d+", repetition)]
    return bool(counts) and (max(counts) > _REPEATS_MAX or counts != sorted(counts))


def _for_re2(regex: str, *, has_named_groups: bool) -> str:
    """Return the expression for RE2 that has the same meaning as `regex` in RE2/J."""
    names: set[str] = set()
    parts: list[str] = []
    last = ""
    for token in _TOKEN.finditer(regex):
        part, name = token[0], token["name"]
        if part.startswith("(?<") and not has_named_groups:
            part = _NO_GROUP
        elif name is not None:
            part = _DUPLICATE if name in names else part
            names.add(name)
        elif part == r"\C":  # a single byte, which Java's strings do not have
            part = _NO_ESCAPE
        elif token["repetition"] and (last == "{" or _is_repetition(last)):
            part = _repeated(part, after=last)
        elif not part.startswith(r"\Q"):
            part = _ESCAPED_LETTER.sub(lambda found: found[1] or found[2], part)  # such an escape is the letter itself
        parts.append(part)
        last = token[0]
    return "".join(parts)
