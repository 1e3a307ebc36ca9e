"""ZooKeeper by its documents, as simply as can be: what the virtual one is compared with."""

from __future__ import annotations

from groupproof.protocol.relatives.zookeeper_messages import (
    Answer,
    Children,
    Code,
    Create,
    Delete,
    EventKind,
    Exists,
    Get,
    Operation,
    Set,
    WatchEvent,
)

__all__ = ["NaiveZooKeeper"]


def above(path: str) -> str:
    return path.rpartition("/")[0] or "/"


class NaiveZooKeeper:
    """Paths to data, version and owner; watches as triples. Every operation returns its answer and whom it told what."""

    def __init__(self) -> None:
        self.nodes: dict[str, tuple[bytes, int, int]] = {"/": (b"", 0, 0)}
        self.watches: set[tuple[str, str, int]] = set()

    def ask(self, session: int, operation: Operation) -> tuple[Answer, set[tuple[int, WatchEvent]]]:
        match operation:
            case Create():
                return self._create(session, operation)
            case Delete():
                return self._delete(operation)
            case Set():
                return self._set(operation)
            case Get() | Exists() | Children():
                return self._read(session, operation), set()
        raise AssertionError(operation)

    def end(self, session: int) -> set[tuple[int, WatchEvent]]:
        self.watches = {watch for watch in self.watches if watch[2] != session}
        pairs: set[tuple[int, WatchEvent]] = set()
        for path in [path for path, (_, _, owner) in self.nodes.items() if owner == session]:
            pairs |= self._delete(Delete(path))[1]
        return pairs

    def _create(self, session: int, operation: Create) -> tuple[Answer, set[tuple[int, WatchEvent]]]:
        if above(operation.path) not in self.nodes:
            return Answer(Code.NO_NODE), set()
        if operation.path in self.nodes:
            return Answer(Code.NODE_EXISTS), set()
        if self.nodes[above(operation.path)][2]:
            return Answer(Code.NO_CHILDREN_FOR_EPHEMERALS), set()
        self.nodes[operation.path] = operation.data, 0, session if operation.is_ephemeral else 0
        return Answer(Code.OK), self._fire(operation.path, EventKind.CREATED)

    def _delete(self, operation: Delete) -> tuple[Answer, set[tuple[int, WatchEvent]]]:
        found = self.nodes.get(operation.path)
        if found is None or operation.version not in (-1, found[1]):
            return Answer(Code.NO_NODE if found is None else Code.BAD_VERSION), set()
        if any(above(path) == operation.path for path in self.nodes if path != "/"):
            return Answer(Code.NOT_EMPTY), set()
        del self.nodes[operation.path]
        return Answer(Code.OK), self._fire(operation.path, EventKind.DELETED)

    def _set(self, operation: Set) -> tuple[Answer, set[tuple[int, WatchEvent]]]:
        found = self.nodes.get(operation.path)
        if found is None or operation.version not in (-1, found[1]):
            return Answer(Code.NO_NODE if found is None else Code.BAD_VERSION), set()
        self.nodes[operation.path] = operation.data, found[1] + 1, found[2]
        return Answer(Code.OK, version=found[1] + 1), self._fire(operation.path, EventKind.DATA_CHANGED)

    def _read(self, session: int, operation: Get | Exists | Children) -> Answer:
        found = self.nodes.get(operation.path)
        if operation.is_watched and (found is not None or isinstance(operation, Exists)):
            self.watches.add(("children" if isinstance(operation, Children) else "data", operation.path, session))
        if found is None:
            return Answer(Code.NO_NODE)
        if isinstance(operation, Children):
            return Answer(
                Code.OK, children=tuple(sorted(path.rpartition("/")[2] for path in self.nodes if path != "/" and above(path) == operation.path))
            )
        return Answer(Code.OK, data=found[0] if isinstance(operation, Get) else b"", version=found[1], owner=found[2])

    def _fire(self, path: str, kind: EventKind) -> set[tuple[int, WatchEvent]]:
        hit = {watch for watch in self.watches if watch[1] == path and (watch[0] == "data" or kind is EventKind.DELETED)}
        pairs = {(session, WatchEvent(kind, path)) for _, _, session in hit}
        if kind is not EventKind.DATA_CHANGED:
            heard = {watch for watch in self.watches if watch[:2] == ("children", above(path))}
            pairs |= {(session, WatchEvent(EventKind.CHILDREN_CHANGED, above(path))) for _, _, session in heard}
            hit |= heard
        self.watches -= hit
        return pairs
