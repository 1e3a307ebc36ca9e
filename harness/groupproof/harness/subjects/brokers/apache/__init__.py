"""Apache Kafka in its releases, by Docker's official image or out of Maven artifacts."""
