"""What DataLink's workers and ZooKeeper's clients say on the wire, as data."""
