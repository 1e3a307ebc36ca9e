"""The server-side assignors of KIP-848, as in Kafka 4.0 to 4.4: they compute a target assignment from a group and its topics. Pure."""
