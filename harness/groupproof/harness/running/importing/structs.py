"""Parses Kafka's print of a message up to 2.6, `{name=value,list=[{…},{…}]}`, to dictionaries and lists of text. Pure; any depth is allowed."""

from __future__ import annotations

from typing import Any

__all__ = ["parse_struct"]


def parse_struct(text: str) -> tuple[dict[str, Any], int]:
    """Return the struct at the start of `text`, with text, lists or structs as values, and its end; raise `ValueError` if there is none.

    Values are not quoted: a comma or a bracket in one ends it, because the text shows no more.
    """
    if not text.startswith("{"):
        raise ValueError("a struct begins with a brace")
    stack: list[tuple[str, Any]] = [("", {})]
    name, start, at = "", 1, 1
    while at < len(text):
        char = text[at]
        if char == "=" and not name and isinstance(stack[-1][1], dict):
            name, start = text[start:at].strip(), at + 1
        elif char in "{[" and (at == start or text[start:at].strip() == ""):
            stack.append((name, {} if char == "{" else []))
            name, start = "", at + 1
        elif char in ",}]":
            _put(stack[-1][1], name, text[start:at])
            name, start = "", at + 1
            if char != ",":
                outer, made = stack.pop()
                if not stack:
                    return made, at + 1
                _put(stack[-1][1], outer, made)
                at = start = _past_comma(text, at + 1)
                continue
        elif char == "[" and "=" not in text[start:at]:
            at = _closing(text, at)  # such as java.nio.HeapByteBuffer[pos=0 lim=13 cap=13]
        at += 1
    raise ValueError("a struct is cut off")


def _put(into: Any, name: str, value: Any) -> None:
    if isinstance(value, str) and not value.strip() and not name:
        return
    if isinstance(into, list):
        into.append(value)
    elif name:
        into[name] = value


def _past_comma(text: str, at: int) -> int:
    return at + 1 if text[at : at + 1] == "," else at


def _closing(text: str, at: int) -> int:
    end = text.find("]", at)
    if end < 0:
        raise ValueError("a struct is cut off")
    return end
