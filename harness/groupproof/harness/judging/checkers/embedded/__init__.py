"""The protocols embedded in frames of the classic one: Kafka Connect's and Kafka Streams'."""
