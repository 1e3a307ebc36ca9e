"""Records of the offsets topic as Hypothesis draws them: any value that a shape can hold."""

from __future__ import annotations

from typing import Any, Final

from hypothesis import strategies as st

from groupproof.protocol.wire.codec import SIZES, Column, Shape
from groupproof.protocol.wire.coordinator_shapes import record_forms

__all__ = ["bodies", "records"]

_TEXTS: Final = st.text(max_size=12)
_UUIDS: Final = st.uuids().map(str) | st.none()


def bodies(shape: Shape) -> st.SearchStrategy[dict[str, Any]]:
    """Draw a body of `shape`, with the defaults of what it does not have."""
    absent = {name: st.just(default) for name, default in shape.absent.items()}
    return st.fixed_dictionaries(absent | {column.name: _values(column) for column in shape.columns})


def records() -> st.SearchStrategy[tuple[str, dict[str, Any], dict[str, Any] | None, int]]:
    """Draw a name, a key, a value or None, and its version."""
    pairs = [(form, version) for form in record_forms().values() for version in form.values]
    return st.sampled_from(pairs).flatmap(
        lambda pair: st.tuples(
            st.just(pair[0].name), bodies(pair[0].key), bodies(pair[0].values[pair[1]][0]) | st.none(), st.just(pair[1])
        )
    )  # fmt: skip


def _values(column: Column) -> st.SearchStrategy[Any]:
    one = _one(column)
    whole = st.lists(one, max_size=3).map(tuple) if column.is_array else one
    return whole | st.none() if column.is_nullable else whole


def _one(column: Column) -> st.SearchStrategy[Any]:
    if column.shape is not None:
        return bodies(column.shape)
    if column.kind == "string":
        return _TEXTS
    if column.kind == "bytes":
        return st.binary(max_size=12)
    if column.kind == "uuid":
        return _UUIDS.filter(lambda value: value != "00000000-0000-0000-0000-000000000000")
    if column.kind == "bool":
        return st.booleans()
    bits = 8 * SIZES[column.kind]
    return st.integers(0, 2**bits - 1) if column.kind.startswith("u") else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
