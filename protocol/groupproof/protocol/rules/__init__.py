"""The one table of the group protocol: what a broker of a release answers and does, by input and state.

Everything that speaks of the protocol reads it here: the reference coordinator steps by it, documents and snapshots are printed from it,
cases and reports cite its rules and requirements. `profile(name)` is the way in.
"""

from __future__ import annotations

from groupproof.protocol.rules.classic.classic_states import STATES
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, REQUESTS, ClassicEvent, Effect, Form, Guard, Row, State, rule_name, state_name
from groupproof.protocol.rules.profiles import Profile, UnknownProfile, api_versions, known_profiles, profile, profiles, relatives, rows

__all__ = [
    "NO_GROUP", "REQUESTS", "STATES", "ClassicEvent", "Effect", "Form", "Guard", "Profile", "Row", "State", "UnknownProfile", "api_versions",
    "known_profiles", "profile", "profiles", "relatives", "rows", "rule_name", "state_name",
]  # fmt: skip
