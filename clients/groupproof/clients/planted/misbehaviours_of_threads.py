"""Planted bugs of a Kafka Streams thread, as choices of its policy. `tests/power/caught_of_embedded.toml` lists the cases that catch them."""

from __future__ import annotations

from typing import Any, Final

from groupproof.clients.member.policy import Override, Policy
from groupproof.clients.planted.member_variant import Variant
from groupproof.protocol.rules.classic.member_reactions import Effect
from groupproof.protocol.vocabulary import Api, ErrorCode
from groupproof.protocol.wire.embedded.streams_protocol import ASSIGNOR

__all__ = ["THREADS"]


def _bug(name: Any, says: str, breaks: str, policy: Policy | None = None) -> Variant:
    policy = Policy(streams=name) if policy is None else policy
    return Variant(name=f"thread-{name}", says=says, policy=policy, breaks=tuple(breaks.split()), settings={"assignors": [ASSIGNOR]})


_REFUSED: Final = (ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_MEMBER_ID)
_TRIES_AGAIN: Final = Override(api=Api.OFFSET_COMMIT, answers=_REFUSED, effects=(Effect.BACK_OFF, Effect.RETRY))


# fmt: off
THREADS: Final = (
    # Its user data
    _bug("begins-with-an-older-version", "Uses the version before its newest in its first JoinGroup.", "STREAMS-01"),
    _bug("changes-its-process", "Names another process in each JoinGroup.", "STREAMS-02"),
    _bug("repeats-its-user-data", "Sends the same user data in each JoinGroup.", "STREAMS-03"),
    _bug("forgets-its-tasks", "Names none of its tasks when it joins again.", "STREAMS-04"),
    _bug("forgets-its-standbys", "Names only its active tasks when it joins again.", "STREAMS-04"),
    # Its reaction to an assignment
    _bug("keeps-its-version", "Joins again in the version of before when the group agreed on an older one.", "STREAMS-06"),
    _bug("forgets-what-it-knows", "Says the version that it uses for the newest that it knows.", "STREAMS-06"),
    _bug("stays-quiet-after-probing", "Takes an older version up, and does not join again.", "STREAMS-06 STREAMS-07"),
    _bug("never-upgrades", "Joins again in the version of before when all know a newer one.", "STREAMS-07"),
    _bug("forgets-the-next-rebalance", "Does not join again when the time of the next rebalance has come.", "STREAMS-10"),
    _bug("rejoins-without-need", "Joins again soon, whatever time its assignment names for that.", "STREAMS-20"),
    _bug("goes-on-after-errors", "Takes an assignment with an error for one without tasks.", "STREAMS-13 STREAMS-15"),
    _bug("ignores-shutdown", "Takes an assignment that asks for a shutdown for one without tasks.", "STREAMS-15"),
    _bug("ends-alone", "Ends without a message to the group when its application must end everywhere.", "STREAMS-21"),
    _bug("gives-up-uncommitted", "Gives tasks up without a commit of what it processed.", "STREAMS-17", Policy(commits_before_revoke=False)),
    _bug("keeps-quiet-after-handing-over", "Gives tasks up, and does not join again.", "STREAMS-09", Policy(cooperative_rejoins=False)),
    _bug("leaves-on-close", "Leaves the group when it is closed.", "STREAMS-18"),
    _bug("leaves-when-static", "Leaves the group when it is closed though it is a static member.", "STATIC-15 STATIC-16"),
    _bug("commits-on-as-a-stranger", "Repeats a commit that was refused for its generation or its id.", "STREAMS-19", Policy(overrides=(_TRIES_AGAIN,))),
    # Its assignments as leader
    _bug("assigns-in-its-own-version", "As leader, writes assignments in its own newest version, whatever members used.", "STREAMS-05"),
    _bug("forgets-the-common-version", "As leader, names the version that was used for the newest that all know.", "STREAMS-05"),
    _bug("drops-a-task", "As leader, gives the last task to nobody.", "STREAMS-08"),
    _bug("gives-all-to-all", "As leader, gives every task to every member.", "STREAMS-08"),
    _bug("muddles-its-tasks", "As leader, lists tasks in another order than their partitions.", "STREAMS-08"),
    _bug("gives-what-is-owned", "As leader, gives a task away that its owner still runs.", "STREAMS-09"),
    _bug("calls-nobody-back", "As leader, withholds a task that moves, and asks no member to join again for it.", "STREAMS-09"),
    _bug("gives-no-standbys", "As leader, deals no standby tasks.", "STREAMS-11"),
    _bug("standbys-at-the-owner", "As leader, gives the standby of a task to the member that runs it.", "STREAMS-11"),
    _bug("standbys-in-the-process", "As leader, gives the standby of a task to another thread of the process that runs it.", "STREAMS-22"),
    _bug("assigns-without-topics", "As leader, deals the tasks of the topics that there are where one is missing.", "STREAMS-12"),
    _bug("leads-on-after-shutdown", "As leader, deals tasks though a member asks for a shutdown.", "STREAMS-14"),
)
# fmt: on
