"""DataLink's workers and ZooKeeper's consumers: relatives of the member, which an installation may omit."""
