"""The fields of `subscribe`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["Subscribe"]


class Subscribe:
    """The fields of `subscribe`. Fields that the shim does not use are listed as `ignored` in the answer."""

    _ENVELOPE: Final = frozenset({"id", "command", "member"})

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self._fields = {name: value for name, value in fields.items() if value is not None and name not in self._ENVELOPE}
        self._taken: set[str] = set()
        self.poll_timeout_s: float = self.take("poll_timeout_ms", 100) / 1000
        self.handler_delay_s: float = self.take("handler_delay_ms", 0) / 1000
        self.take("broker_release")  # no client needs it: it asks its brokers
        self.on_revoked: dict[str, Any] = self.take("on_revoked", {})
        self.topics: list[str] = self.take("topics", [])

    def take(self, name: str, default: Any = None) -> Any:
        self._taken.add(name)
        return self._fields.get(name, default)

    def config(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the present fields under the client's setting names. `names` maps fields to settings."""
        return {setting: self.take(field) for field, setting in names.items() if field in self._fields}

    @property
    def dialect(self) -> str:
        """Return `classic` or `consumer`."""
        older = self.take("protocol") or "classic"
        return str(self.take("group_protocol") or older)

    @property
    def ignored(self) -> list[str]:
        return sorted(set(self._fields) - self._taken)

    def ignore(self, name: str) -> None:
        """List `name` as ignored although the shim used it: the client cannot apply its value."""
        self._taken.discard(name)
