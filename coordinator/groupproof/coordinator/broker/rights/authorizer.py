"""Who may do what with groups and topics: everybody everything, but for what is denied. Pure.

It decides as Kafka's `StandardAuthorizer` where one ACL allows all and others deny: to deny READ leaves DESCRIBE, and the other way round. The reference
has no logins, so that a client is known by its client id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["ALL", "Authorizer", "Denial", "NoDenial", "Operation", "Resource", "Rights"]

ALL: Final = "*"
"""As a client everybody, as a name every group or every topic."""


class Operation(StrEnum):
    """Kafka's operations (`AclOperation`), those that requests about groups ask for."""

    READ = "READ"
    DESCRIBE = "DESCRIBE"
    DELETE = "DELETE"


class Resource(StrEnum):
    """What is denied (`ResourceType`)."""

    GROUP = "group"
    TOPIC = "topic"


class NoDenial(ValueError):
    """Words that deny nothing; the message says what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """One DENY: `client` may not do `operation` with what `name` names, each `ALL` for whoever and whatever there is."""

    operation: Operation
    resource: Resource
    name: str
    client: str = ALL

    @classmethod
    def of(cls, text: str) -> Denial:
        """Return what words such as `DESCRIBE topic orders client=app` deny; raise `NoDenial`."""
        found = _WORDS.fullmatch(text.strip())
        if found is None or found["operation"] not in _ASKED[Resource(found["resource"])]:
            raise NoDenial(f"{text!r} denies nothing; {_FORM}")
        return cls(operation=Operation(found["operation"]), resource=Resource(found["resource"]), name=found["name"], client=found["client"] or ALL)


@dataclass(frozen=True, slots=True)
class Rights:
    """What one client may do: all but what is denied to it."""

    denied: frozenset[tuple[Operation, Resource, str]]

    def may(self, operation: Operation, resource: Resource, name: str) -> bool:
        """Tell whether the client may do that with the group or topic of this name."""
        return (operation, resource, name) not in self.denied and (operation, resource, ALL) not in self.denied


@dataclass(frozen=True, slots=True)
class Authorizer:
    """All that is denied to anybody."""

    denials: frozenset[Denial] = frozenset()

    def rights(self, client: str) -> Rights:
        """Return what a client may do, by its client id."""
        own = (denial for denial in self.denials if denial.client in (client, ALL))
        return Rights(frozenset((denial.operation, denial.resource, denial.name) for denial in own))

    def may_describe(self, client: str, topic: str) -> bool:
        """Tell whether a client may see a topic."""
        return self.rights(client).may(Operation.DESCRIBE, Resource.TOPIC, topic)


_ASKED: Final[Mapping[Resource, tuple[Operation, ...]]] = {
    Resource.GROUP: (Operation.READ, Operation.DESCRIBE, Operation.DELETE),
    Resource.TOPIC: (Operation.READ, Operation.DESCRIBE),
}
"""What requests ask for; to deny something else would change nothing."""

_WORDS: Final = re.compile(
    rf"(?P<operation>{'|'.join(Operation)})\s+(?P<resource>{'|'.join(Resource)})\s+(?!client=)(?P<name>\S.*?)(?:\s+client=(?P<client>\S.*))?",
    re.DOTALL,
)
_FORM: Final = (
    "write OPERATION RESOURCE NAME, such as 'READ group g' or 'DESCRIBE topic t client=app'; "
    "of a group READ, DESCRIBE and DELETE can be denied, of a topic READ and DESCRIBE"
)
