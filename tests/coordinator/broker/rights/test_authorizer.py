"""Who may do what."""

from __future__ import annotations

import pytest

from groupproof.coordinator.broker.rights.authorizer import Authorizer, Denial, NoDenial, Operation, Resource


def _authorizer(*denials: str) -> Authorizer:
    return Authorizer(frozenset(map(Denial.of, denials)))


@pytest.mark.parametrize(
    ("words", "denial"),
    [
        ("READ group g", Denial(operation=Operation.READ, resource=Resource.GROUP, name="g")),
        ("DESCRIBE topic t client=app", Denial(operation=Operation.DESCRIBE, resource=Resource.TOPIC, name="t", client="app")),
        (" DELETE  group  my group  client=an app ", Denial(operation=Operation.DELETE, resource=Resource.GROUP, name="my group", client="an app")),
        ("READ topic *", Denial(operation=Operation.READ, resource=Resource.TOPIC, name="*")),
    ],
)
def test_a_denial_is_written_in_words(words: str, denial: Denial) -> None:
    assert Denial.of(words) == denial


@pytest.mark.parametrize(
    "words", ["", "READ", "READ group", "WRITE topic t", "read group g", "READ cluster c", "DELETE topic t", "READ group client=app"]
)
def test_words_that_deny_nothing_are_refused_with_what_to_write(words: str) -> None:
    with pytest.raises(NoDenial, match="denies nothing; write OPERATION RESOURCE NAME, such as 'READ group g'"):
        Denial.of(words)


def test_nothing_is_denied_to_begin_with() -> None:
    assert Authorizer().rights("app").may(Operation.READ, Resource.GROUP, "g")


@pytest.mark.parametrize("denied", list(Operation))
def test_to_deny_one_operation_leaves_the_others(denied: Operation) -> None:
    rights = _authorizer(f"{denied} group g").rights("app")

    assert [operation for operation in Operation if not rights.may(operation, Resource.GROUP, "g")] == [denied]
    assert all(rights.may(operation, Resource.GROUP, "h") for operation in Operation)
    assert rights.may(Operation.READ, Resource.TOPIC, "g")


def test_what_is_denied_to_one_client_others_may() -> None:
    authorizer = _authorizer("DESCRIBE topic t client=app", "DESCRIBE topic u")

    assert [authorizer.may_describe(client, topic) for client in ("app", "other") for topic in "tu"] == [False, False, True, False]


def test_every_group_is_denied_at_once() -> None:
    rights = _authorizer("READ group *").rights("app")

    assert [rights.may(operation, Resource.GROUP, "any") for operation in (Operation.READ, Operation.DESCRIBE)] == [False, True]
