"""Scenarios of Spark's own Kafka source: queries, faults, and each query's reads."""
