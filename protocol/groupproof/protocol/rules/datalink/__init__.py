"""DataLink's Manager: its dialect, as deltas of the classic one. Pure."""
