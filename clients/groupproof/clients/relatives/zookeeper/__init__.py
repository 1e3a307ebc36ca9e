"""The consumer from before Kafka had a coordinator: its members coordinate through ZooKeeper (kafka.consumer.ZookeeperConsumerConnector)."""
