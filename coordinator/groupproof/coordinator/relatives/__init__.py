"""ZooKeeper's ensemble: the coordinator's relative, which an install can do without. Pure."""
