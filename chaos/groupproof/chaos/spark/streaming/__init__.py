"""Scenarios of Spark's own Kafka source: queries, faults, and who read what."""
