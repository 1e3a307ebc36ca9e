"""The data of Kafka Connect, Kafka Streams and Faust in the group protocol: their own bytes in subscriptions and assignments."""
