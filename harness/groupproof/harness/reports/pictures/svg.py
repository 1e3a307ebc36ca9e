"""Helpers for SVG: elements from keyword arguments, text with a hint, and the width of a text."""

from __future__ import annotations

from functools import cache, lru_cache
from html import escape

__all__ = ["element", "hint", "text", "text_width", "time_label"]

CHAR, CAPITAL = 5.8, 7.0
"""The average widths (px) of characters at 10.5 px, wide enough for the fonts in use."""


def element(tag: str, *inside: str, **attributes: str | float | None) -> str:
    """Return an element. `cls` is its class. Underscores in names become dashes, numbers keep one decimal, None is left out."""
    written = "".join([f' {_name(name)}="{_value(value)}"' for name, value in attributes.items() if value is not None])
    return f"<{tag}{written}>{''.join(inside)}</{tag}>" if inside else f"<{tag}{written}/>"


@cache
def _name(name: str) -> str:
    return "class" if name == "cls" else name.replace("_", "-")


def _value(value: str | float) -> str:
    return _escaped(value) if isinstance(value, str) else _number(value)


@lru_cache(maxsize=1024)
def _escaped(words: str) -> str:
    """Cache escaped texts: an attribute is nearly always a class or an anchor, and the same for thousands of elements."""
    return escape(words)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def hint(words: str) -> str:
    """Return the hint that a reader gets with the pointer on the element around it."""
    return f"<title>{_printable(words)}</title>"


def text(x: float, y: float, words: str, cls: str, *, anchor: str | None = None, title: str = "") -> str:
    return element("text", hint(title) if title else "", _printable(words), x=x, y=y, cls=cls, text_anchor=anchor)


def _printable(words: str) -> str:
    """Return escaped text without the control characters that XML cannot hold, whatever a client has sent."""
    if not words.isprintable():
        words = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in words)
    return escape(words)


def text_width(words: str) -> float:
    """Return the approximate width (px) of a label."""
    capitals = sum(map(str.isupper, words)) + words.count("_")
    return CHAR * (len(words) - capitals) + CAPITAL * capitals


def time_label(ms: float) -> str:
    """Return a time in readable form: 40 ms, 1.25 s, 12 s."""
    if ms < 1_000:
        return f"{ms:.0f} ms"
    return f"{ms / 1_000:.2f}".rstrip("0").rstrip(".") + " s"
