"""DataLink's Managers and ZooKeeper's consumers: relatives of the protocol, which an install can do without."""
