"""What one server knows, and whom it tells."""

from __future__ import annotations

from groupproof.coordinator.relatives.zookeeper.tree import NodeCreated, NodeDeleted, NodeWritten, Tree, WatchFired
from groupproof.protocol.relatives.zookeeper_messages import Answer, Code, EventKind, GetEach, WatchEvent


def tree_of(*paths: str, owner: int = 0) -> Tree:
    tree = Tree()
    for number, path in enumerate(paths, start=1):
        tree.apply(NodeCreated(path, path.encode(), owner), number)
    return tree


def test_names_are_one_tuple_for_all_who_ask_until_a_child_comes_or_goes() -> None:
    tree = tree_of("/p", "/p/b", "/p/a")
    node = tree.node("/p")
    assert node is not None
    names = node.names()

    assert names == ("a", "b")
    assert node.names() is names
    tree.apply(NodeDeleted("/p/a"), 4)
    assert node.names() == ("b",)


def test_reads_of_the_same_names_are_one_answer_until_a_child_changes() -> None:
    tree = tree_of("/p", "/p/a", "/p/b")
    ask = GetEach("/p", ("b", "a"))
    first = tree.get_each(ask)

    assert (first.code, first.values) == (Code.OK, (b"/p/b", b"/p/a"))
    assert tree.get_each(ask) is first
    tree.apply(NodeWritten("/p/a", b"new"), 4)
    assert tree.get_each(ask).values == (b"/p/b", b"new")
    tree.apply(NodeDeleted("/p/a"), 5)
    assert tree.get_each(ask) == (Code.NO_NODE, b"", 0, 0, (), (b"/p/b",))
    assert tree.get_each(GetEach("/q", ("a",))).code is Code.NO_NODE


def test_more_lists_of_names_than_are_kept_are_read_all_the_same() -> None:
    tree = tree_of("/p", "/p/a")

    asked = [("a", f"none-{number}") for number in range(5_000)]
    assert {tree.get_each(GetEach("/p", names)) for names in asked} == {Answer(Code.NO_NODE, values=(b"/p/a",))}
    assert tree.get_each(GetEach("/p", asked[0])).values == (b"/p/a",)


def test_a_watch_on_children_does_not_learn_of_data() -> None:
    tree = tree_of("/p", "/p/a")
    tree.watch_children("/p", 7)

    assert tree.apply(NodeWritten("/p/a", b"1"), 3) == tree.apply(NodeWritten("/p", b"1"), 4) == []
    assert tree.apply(NodeCreated("/p/b", b"", 0), 5) == [WatchFired(7, WatchEvent(EventKind.CHILDREN_CHANGED, "/p"))]
    assert tree.apply(NodeCreated("/p/c", b"", 0), 6) == []


def test_the_end_of_a_node_is_reported_to_each_session_once_and_above_it_too() -> None:
    tree = tree_of("/p", "/p/a")
    tree.watch_data("/p/a", 7)
    tree.watch_children("/p/a", 7)
    tree.watch_children("/p/a", 8)
    tree.watch_children("/p", 9)

    assert tree.apply(NodeDeleted("/p/a"), 3) == [
        WatchFired(7, WatchEvent(EventKind.DELETED, "/p/a")), WatchFired(8, WatchEvent(EventKind.DELETED, "/p/a")),
        WatchFired(9, WatchEvent(EventKind.CHILDREN_CHANGED, "/p")),
    ]  # fmt: skip


def test_ephemeral_nodes_are_known_by_their_session() -> None:
    tree = tree_of("/p")
    tree.apply(NodeCreated("/p/e", b"", 5), 2)
    tree.apply(NodeCreated("/f", b"", 5), 3)
    assert tree.ephemerals(5) == ("/p/e", "/f")
    tree.apply(NodeDeleted("/p/e"), 4)

    assert tree.ephemerals(5) == ("/f",)
    assert tree.ephemerals(6) == ()


def test_what_a_session_watches_is_returned_and_forgotten() -> None:
    tree = tree_of("/p")
    tree.watch_data("/p", 7)
    tree.watch_data("/q", 7)
    tree.watch_children("/p", 7)
    tree.watch_children("/p", 8)

    assert tree.forget_watches(7) == (("/p", "/q"), ("/p",))
    assert tree.apply(NodeCreated("/p/a", b"", 0), 2) == [WatchFired(8, WatchEvent(EventKind.CHILDREN_CHANGED, "/p"))]
