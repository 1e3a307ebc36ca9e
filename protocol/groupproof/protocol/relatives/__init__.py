"""The messages of DataLink's workers and ZooKeeper's clients, as data."""
