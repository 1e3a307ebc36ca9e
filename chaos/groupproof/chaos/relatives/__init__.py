"""DataLink and ZooKeeper under faults, beside the coordinator's group; an optional wing."""
