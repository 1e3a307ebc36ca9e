"""Planted bugs of a Kafka Connect worker, as choices of its policy. `tests/power/caught_of_embedded.toml` lists the cases that catch them."""

from __future__ import annotations

from typing import Any, Final

from groupproof.clients.member.policy import Policy
from groupproof.clients.planted.member_variant import Variant

__all__ = ["WORKERS"]


def _bug(connect: Any, says: str, breaks: str, text: str = "") -> Variant:
    return Variant(name=f"worker-{connect}", says=says, policy=Policy(connect=connect), breaks=tuple(breaks.split()), source=text)


# fmt: off
WORKERS: Final = (
    # Its metadata
    _bug("offers-one-protocol", "Offers only the protocol that it likes best.", "CONNECT-01"),
    _bug("offers-every-protocol", "Offers every protocol, whatever its connect.protocol says.", "CONNECT-01"),
    _bug("says-one-version", "Writes the metadata of every protocol in one version.", "CONNECT-02"),
    _bug("forgets-its-jobs", "Names nothing that it runs when it joins again.", "CONNECT-03"),
    _bug("keeps-its-offset", "Reads that a connector was added, and says the offset from before.", "CONNECT-15"),
    # Its reaction to an assignment
    _bug("never-follows-up", "Does not join again when something was revoked.", "CONNECT-07"),
    _bug("keeps-what-was-revoked", "Goes on running what was revoked.", "CONNECT-07 CONNECT-03"),
    _bug("forgets-the-delay", "Does not join again when the scheduled rebalance delay has passed.", "CONNECT-09"),
    _bug("cuts-the-delay", "Joins again long before the scheduled rebalance delay has passed.", "CONNECT-09"),
    _bug("takes-an-error-for-done", "Takes an assignment with an error for one without connectors.", "CONNECT-12"),
    _bug("stays-behind", "Stays in the group though it cannot read the configuration as far as its leader.", "CONNECT-13"),
    _bug("comes-back-behind", "Leaves when it cannot read the configuration as far as its leader, and joins again at once.", "CONNECT-13"),
    _bug("never-reads-on", "Never reads the configuration further than at its start.", "CONNECT-14"),
    _bug("later-versions-unread", "Takes an assignment of a later version for an empty one.", "CONNECT-16"),
    # Its assignments as leader
    _bug("assigns-in-its-own-version", "As leader, writes assignments in its own newest version, whatever was agreed.", "CONNECT-04"),
    _bug("names-no-leader", "As leader, leaves its id out of its assignments.", "CONNECT-04"),
    _bug("assigns-twice", "As leader, gives what it assigns to every worker.", "CONNECT-05"),
    _bug("drops-a-job", "As leader, gives the last task to nobody.", "CONNECT-05"),
    _bug("gives-at-once", "As leader, gives what it takes from one worker to another in the same generation.", "CONNECT-06"),
    _bug("reassigns-at-once", "As leader, gives what a lost worker ran to the others at once.", "CONNECT-08"),
    _bug("restarts-the-delay", "As leader, restarts the scheduled rebalance delay with each rebalance.", "CONNECT-08"),
    _bug("keeps-lost-jobs", "As leader, never gives out again what a lost worker ran.", "CONNECT-10"),
    _bug("shuffles-when-one-returns", "As leader, takes a task from a worker that stayed while it waits for another to return.", "CONNECT-10"),
    _bug("assigns-though-behind", "As leader, assigns by a configuration that another worker is beyond.", "CONNECT-11"),
    _bug("never-revokes-deleted", "As leader, lets workers run a connector that was deleted.", "CONNECT-15"),
)
# fmt: on
