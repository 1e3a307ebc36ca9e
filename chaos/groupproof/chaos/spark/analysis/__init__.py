"""Queries over a fleet's observations: rebalances, owners, commits, sessions, heartbeats. `queries.py` lists them all."""
