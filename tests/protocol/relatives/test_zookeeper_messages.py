"""The words of ZooKeeper."""

from __future__ import annotations

from groupproof.protocol.relatives.zookeeper_messages import OK, Children, Code, Get, GetEach, requests_in


def test_a_list_of_reads_stands_for_as_many_requests_as_it_has_names() -> None:
    assert requests_in(GetEach("/consumers/g/ids", ("a", "b", "c"))) == 3
    assert requests_in(Get("/brokers")) == requests_in(Children("/brokers")) == 1


def test_what_went_well_has_nothing_else_to_say() -> None:
    assert OK.code is Code.OK
    assert (OK.data, OK.children, OK.values, OK.owner) == (b"", (), (), 0)
