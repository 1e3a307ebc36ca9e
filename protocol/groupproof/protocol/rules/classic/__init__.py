"""The classic group protocol: its table, its member's reactions, and what each release does otherwise. Pure."""
