"""What one server of ZooKeeper knows: a tree of nodes, and who watches them (org.apache.zookeeper.server.DataTree)."""

from __future__ import annotations

from typing import Final, NamedTuple

from groupproof.protocol.relatives.zookeeper_messages import Answer, Code, EventKind, GetEach, WatchEvent

__all__ = ["NodeCreated", "NodeDeleted", "NodeWritten", "Tree", "TreeNode", "WatchFired"]

_READS_MAX: Final = 4_096


class NodeCreated(NamedTuple):
    """A node came to be."""

    path: str
    data: bytes
    owner: int


class NodeDeleted(NamedTuple):
    """A node is gone."""

    path: str


class NodeWritten(NamedTuple):
    """A node has new data."""

    path: str
    data: bytes


class WatchFired(NamedTuple):
    """A watch of that session has fired."""

    session_id: int
    event: WatchEvent


class TreeNode:
    """A node of the tree. `owner` is the session of an ephemeral one, 0 for others; `changed` and `listed` are the transactions that did so last."""

    __slots__ = ("changed", "children", "data", "listed", "listing", "owner", "reads", "version")

    def __init__(self, data: bytes, owner: int, zxid: int) -> None:
        self.data = data
        self.owner = owner
        self.version = 0
        self.changed = self.listed = zxid
        self.children: dict[str, TreeNode] = {}
        self.listing: tuple[str, ...] | None = ()
        self.reads: dict[int, tuple[tuple[str, ...], Answer]] = {}

    def names(self) -> tuple[str, ...]:
        """Return the children's names, sorted: one tuple for all who ask, until it changes."""
        if self.listing is None:
            self.listing = tuple(sorted(self.children))
        return self.listing

    def forget_reads(self) -> None:
        if self.reads:
            self.reads = {}


class Tree:
    """Changes are applied in the order of their transactions; each returns the watches that it has fired, which are gone by that."""

    def __init__(self) -> None:
        self.zxid = 0
        self._root = TreeNode(b"", 0, 0)
        self._nodes: dict[str, TreeNode] = {"/": self._root}
        self._data_watches: dict[str, dict[int, None]] = {}
        self._child_watches: dict[str, dict[int, None]] = {}
        self._ephemerals: dict[int, dict[str, None]] = {}

    def node(self, path: str) -> TreeNode | None:
        return self._nodes.get(path)

    def ephemerals(self, session_id: int) -> tuple[str, ...]:
        """Return the nodes that go with a session."""
        return tuple(self._ephemerals.get(session_id, ()))

    # Reads

    def get_each(self, operation: GetEach) -> Answer:
        """Read children one after the other, until one is missing. Who asks with the same names gets the same answer, until a child changes."""
        parent = self._nodes.get(operation.parent)
        if parent is None:
            return Answer(Code.NO_NODE)
        kept = parent.reads.get(id(operation.names))
        if kept is None:
            if len(parent.reads) >= _READS_MAX:
                parent.reads.clear()
            kept = parent.reads[id(operation.names)] = operation.names, self._read(parent, operation.names)
        return kept[1]

    def _read(self, parent: TreeNode, names: tuple[str, ...]) -> Answer:
        values: list[bytes] = []
        for name in names:
            child = parent.children.get(name)
            if child is None:
                return Answer(Code.NO_NODE, values=tuple(values))
            values.append(child.data)
        return Answer(Code.OK, values=tuple(values))

    # Watches

    def watch_data(self, path: str, session_id: int) -> None:
        """Tell the session once, when the node comes, goes, or has new data."""
        self._data_watches.setdefault(path, {})[session_id] = None

    def watch_children(self, path: str, session_id: int) -> None:
        """Tell the session once, when a child comes or goes, or the node itself goes."""
        self._child_watches.setdefault(path, {})[session_id] = None

    def forget_watches(self, session_id: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Forget what a session watches, and return it: the nodes, and those whose children."""
        found = []
        for watches in (self._data_watches, self._child_watches):
            paths = tuple(path for path, sessions in watches.items() if session_id in sessions)
            for path in paths:
                del watches[path][session_id]
            found.append(paths)
        return found[0], found[1]

    # Changes

    def apply(self, change: NodeCreated | NodeDeleted | NodeWritten, zxid: int) -> list[WatchFired]:
        """Carry out a change that the leader has found right."""
        if isinstance(change, NodeCreated):
            return self._create(change, zxid)
        if isinstance(change, NodeDeleted):
            return self._delete(change, zxid)
        return self._write(change, zxid)

    def _create(self, change: NodeCreated, zxid: int) -> list[WatchFired]:
        parent, name = self._above(change.path)
        node = parent.children[name] = self._nodes[change.path] = TreeNode(change.data, change.owner, zxid)
        if node.owner:
            self._ephemerals.setdefault(node.owner, {})[change.path] = None
        self._has_changed(parent, zxid)
        return self._fire(self._data_watches, change.path, EventKind.CREATED) + self._fire_above(change.path)

    def _delete(self, change: NodeDeleted, zxid: int) -> list[WatchFired]:
        parent, name = self._above(change.path)
        node = self._nodes.pop(change.path)
        del parent.children[name]
        if node.owner:
            del self._ephemerals[node.owner][change.path]
        self._has_changed(parent, zxid)
        fired = self._fire(self._data_watches, change.path, EventKind.DELETED)
        sessions = {one.session_id for one in fired}  # who watches both hears of it once
        fired += [one for one in self._fire(self._child_watches, change.path, EventKind.DELETED) if one.session_id not in sessions]
        return fired + self._fire_above(change.path)

    def _write(self, change: NodeWritten, zxid: int) -> list[WatchFired]:
        node = self._nodes[change.path]
        node.data, node.changed = change.data, zxid
        node.version += 1
        self._above(change.path)[0].forget_reads()
        return self._fire(self._data_watches, change.path, EventKind.DATA_CHANGED)

    def _has_changed(self, parent: TreeNode, zxid: int) -> None:
        parent.listed = zxid
        parent.listing = None
        parent.forget_reads()

    def _above(self, path: str) -> tuple[TreeNode, str]:
        parent, _, name = path.rpartition("/")
        return self._nodes[parent or "/"], name

    def _fire_above(self, path: str) -> list[WatchFired]:
        return self._fire(self._child_watches, path.rpartition("/")[0] or "/", EventKind.CHILDREN_CHANGED)

    @staticmethod
    def _fire(watches: dict[str, dict[int, None]], path: str, kind: EventKind) -> list[WatchFired]:
        sessions = watches.pop(path, None)
        if not sessions:
            return []
        event = WatchEvent(kind, path)
        return [WatchFired(session_id, event) for session_id in sessions]
