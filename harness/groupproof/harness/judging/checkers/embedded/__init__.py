"""What frames carry of the protocols that are embedded in the classic one: Kafka Connect's and Kafka Streams'."""
