"""What Kafka Connect, Kafka Streams and Faust put into the group protocol: their own bytes for subscriptions and assignments."""
