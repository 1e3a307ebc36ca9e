"""Chaos: faults of networks and hosts around real clients and brokers."""
