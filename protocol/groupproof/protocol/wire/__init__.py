"""Kafka's requests, responses and records, as bytes and as dataclasses."""
