"""Words that the names in the code may not have, each with the word that stands for it (docs/vocabulary.md)."""

from __future__ import annotations

__all__ = ["NAMELESS", "OLD_WORDS", "SPOKEN_BY", "SYNONYMS", "VAGUE"]

# One word a thing (CONTRIBUTING, "Vocabulary"): what is banned, and the word that stands for it.
SYNONYMS = {
    "bent": "altered",
    "counterpart": "peer",
    "errand": "offset request",
    "happening": "fault",
    "happenings": "faults",
    "keepalive": "heartbeat",
    "master": "leader",
    "nemesis": "fault",
    "primary": "leader",
    "purgatory": "park",
    "reassignment": "rebalance",
    "slave": "follower",
    "strategy": "assignor",
    "sut": "subject",
    "toxic": "fault",
    "ttl": "session_timeout",
}
# Words of an earlier, private dialect (docs/vocabulary.md, "Words that are gone").
OLD_WORDS = {
    "abouts": "run ends", "backstage": "load server", "bite": "effect", "bitten": "affected", "campaign": "run", "commission": "run plan",
    "company": "reference peers", "deed": "action", "deeds": "actions", "desk": "recorder", "doings": "actions", "drawer": "choice source",
    "insight": "group tracker", "law": "invariant", "mishap": "random fault", "mishaps": "random faults", "partings": "departures", "sitting": "session",
    "stagehand": "load server", "tardy": "late", "warden": "process reaper", "wishes": "options",
}  # fmt: skip
SPOKEN_BY = {
    "master": ("chaos/groupproof/chaos/spark/session.py",),
    "toxic": ("protocol/groupproof/protocol/toxics.py", "chaos/groupproof/chaos/wire/toxiproxy.py", "chaos/groupproof/chaos/wire/member_networks.py"),
}

# No name is one of these words alone: they say nothing of the thing. A constant may be, where it is a word that traces and files know.
NAMELESS = {"each": "the noun of one element", "on": "event, or kind", "seen": "obs, or the noun", "told": "the noun, or a verb"}
# No variable, parameter, attribute, field and function, in tests neither, is one of these: they say that somebody spoke, gave, took or knew, and not which thing it is.
VAGUE = {
    "given": "options, overrides, or the noun: assignment, answer", "known": "names, record, or the noun", "met": "found, reached, or the noun",
    "said": "answer, text, reason, or the noun", "shown": "label, evidence, view, or the noun", "taken": "revoked, assigned, accepted, or the noun",
    "what": "title, kind, body, or the noun",
}  # fmt: skip
