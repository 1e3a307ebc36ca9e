"""The consumer that Kafka had before there was a coordinator: its members agree by what they read in ZooKeeper (kafka.consumer.ZookeeperConsumerConnector)."""
