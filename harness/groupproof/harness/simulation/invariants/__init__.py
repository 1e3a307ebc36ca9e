"""Every invariant of a group, held at each event of a simulation."""
