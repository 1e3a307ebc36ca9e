"""What a fleet did, by queries over its observations: rebalances, owners, commits, sessions, heartbeats. `queries.py` is the table of them all."""
