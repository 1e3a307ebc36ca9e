"""The invariants of a group, checked at each event of a simulation."""
