"""Reads other programs' recordings as traces: logs of brokers and of clients, and captures of their packets."""
