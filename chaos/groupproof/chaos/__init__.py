"""Chaos: faults of networks and machines around real clients and brokers."""
