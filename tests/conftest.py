"""Hypothesis profiles: the same limits everywhere, and in CI new examples on each run with a blob that replays a failure."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# A busy machine must not fail a property: time is judged by no example.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), database=None, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
