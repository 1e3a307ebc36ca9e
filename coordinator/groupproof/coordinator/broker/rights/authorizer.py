"""The clients' rights on groups and topics: everything is allowed except what is denied. Pure.

It decides as Kafka's `StandardAuthorizer` where one ACL allows all and others deny: a denial of READ leaves DESCRIBE, and vice versa. The reference
has no logins, so a client is identified by its client id.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["ALL", "Authorizer", "Denial", "NoDenial", "Operation", "Resource", "Rights"]

ALL: Final = "*"
"""Every client; as a name, every group or every topic."""


class Operation(StrEnum):
    """The Kafka operations (`AclOperation`) that requests about groups need."""

    READ = "READ"
    DESCRIBE = "DESCRIBE"
    DELETE = "DELETE"


class Resource(StrEnum):
    """The type of a denied resource (`ResourceType`)."""

    GROUP = "group"
    TOPIC = "topic"


class NoDenial(ValueError):
    """The text is not a valid denial. The message shows the correct form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Denial:
    """One DENY: `client` may not perform `operation` on the resource `name`. `ALL` stands for every client or every name."""

    operation: Operation
    resource: Resource
    name: str
    client: str = ALL

    @classmethod
    def of(cls, text: str) -> Denial:
        """Return the denial in a text such as `DESCRIBE topic orders client=app`; raise `NoDenial`."""
        found = _WORDS.fullmatch(text.strip())
        if found is None or found["operation"] not in _ASKED[Resource(found["resource"])]:
            raise NoDenial(f"{text!r} denies nothing; {_FORM}")
        return cls(operation=Operation(found["operation"]), resource=Resource(found["resource"]), name=found["name"], client=found["client"] or ALL)


@dataclass(frozen=True, slots=True)
class Rights:
    """The rights of one client: everything except its denials."""

    denied: frozenset[tuple[Operation, Resource, str]]

    def may(self, operation: Operation, resource: Resource, name: str) -> bool:
        """Return whether the client may perform the operation on the group or topic of this name."""
        return (operation, resource, name) not in self.denied and (operation, resource, ALL) not in self.denied


@dataclass(frozen=True, slots=True)
class Authorizer:
    """All denials."""

    denials: frozenset[Denial] = frozenset()

    def rights(self, client: str) -> Rights:
        """Return the rights of a client, by its client id."""
        own = (denial for denial in self.denials if denial.client in (client, ALL))
        return Rights(frozenset((denial.operation, denial.resource, denial.name) for denial in own))

    def may_describe(self, client: str, topic: str) -> bool:
        """Return whether a client may describe a topic."""
        return self.rights(client).may(Operation.DESCRIBE, Resource.TOPIC, topic)


_ASKED: Final[Mapping[Resource, tuple[Operation, ...]]] = {
    Resource.GROUP: (Operation.READ, Operation.DESCRIBE, Operation.DELETE),
    Resource.TOPIC: (Operation.READ, Operation.DESCRIBE),
}
"""The operations that requests need. Denials of others would have no effect."""

_WORDS: Final = re.compile(
    rf"(?P<operation>{'|'.join(Operation)})\s+(?P<resource>{'|'.join(Resource)})\s+(?!client=)(?P<name>\S.*?)(?:\s+client=(?P<client>\S.*))?",
    re.DOTALL,
)
_FORM: Final = (
    "write OPERATION RESOURCE NAME, such as 'READ group g' or 'DESCRIBE topic t client=app'; "
    "of a group READ, DESCRIBE and DELETE can be denied, of a topic READ and DESCRIBE"
)
