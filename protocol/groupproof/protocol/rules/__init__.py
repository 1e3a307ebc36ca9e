"""The tables of the group protocol: a release's answers and effects, by event and state.

All other code reads the protocol here. The reference coordinator follows the tables, documents and snapshots are printed from them, cases and reports
cite their rules and requirements. The entry point is `profile(name)`.
"""

from __future__ import annotations

from groupproof.protocol.rules.classic.classic_states import STATES
from groupproof.protocol.rules.classic.classic_terms import NO_GROUP, REQUESTS, ClassicEvent, Effect, Form, Guard, Row, State, rule_name, state_name
from groupproof.protocol.rules.profiles import Profile, UnknownProfile, api_versions, known_profiles, profile, profiles, relatives, rows

__all__ = [
    "NO_GROUP", "REQUESTS", "STATES", "ClassicEvent", "Effect", "Form", "Guard", "Profile", "Row", "State", "UnknownProfile", "api_versions",
    "known_profiles", "profile", "profiles", "relatives", "rows", "rule_name", "state_name",
]  # fmt: skip
