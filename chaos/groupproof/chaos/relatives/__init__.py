"""DataLink and ZooKeeper under faults, beside the coordinator's group; an install can do without."""
