"""Connections between members and brokers: loopback TCP, streams in memory, impairments, TLS and SASL."""
