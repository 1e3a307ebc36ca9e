"""The assignors of KIP-848's coordinator, as Kafka's are from 4.0 to 4.4: from a group and its topics to a target assignment. Pure."""
