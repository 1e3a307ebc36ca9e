"""Judges of cases in the protocols embedded in the classic one: Kafka Connect's and Kafka Streams'."""
