"""The classic group protocol: its table, its member's reactions, and the differences of each release. Pure."""
