"""Stand-ins for the libraries of third parties, by the calls that members make of them."""

from __future__ import annotations

import sys
import types
from typing import Any


class Place:
    def __init__(self, topic: str, partition: int, error: Any = None) -> None:
        self.topic, self.partition, self.error = topic, partition, error


class Error:
    _NO_OFFSET = -168

    def __init__(self, code: int, name: str = "", *, fatal: bool = False) -> None:
        self._code, self._name, self._fatal = code, name, fatal

    def code(self) -> int:
        return self._code

    def name(self) -> str:
        return self._name

    def fatal(self) -> bool:
        return self._fatal


class KafkaException(Exception):
    pass


class Consumer:
    """confluent-kafka's consumer as far as a member uses it; `commits` are what commit raises or returns next."""

    made: list[Consumer] = []  # noqa: RUF012 (each test empties it)

    def __init__(self, config: dict[str, Any], logger: Any = None) -> None:
        self.config, self.closed, self.messages, self.commits = config, False, list[Any](), list[Any]()
        Consumer.made.append(self)

    def subscribe(self, topics: list[str], **callbacks: Any) -> None:
        self.topics, self.callbacks = topics, callbacks

    def poll(self, _timeout_s: float) -> Any:
        return self.messages.pop() if self.messages else None

    def commit(self, *, asynchronous: bool) -> Any:
        assert not asynchronous
        entry = self.commits.pop()
        if isinstance(entry, Exception):
            raise entry
        return entry

    def memberid(self) -> str:
        return "id"

    def close(self) -> None:
        self.closed = True


def confluent() -> types.ModuleType:
    """Return a module that stands for `confluent_kafka`, and is imported in its place."""
    module: Any = types.ModuleType("confluent_kafka")
    module.Consumer, module.KafkaException, module.KafkaError = Consumer, KafkaException, Error
    Consumer.made.clear()
    sys.modules["confluent_kafka"] = module
    return module  # type: ignore[no-any-return]  # it is one
