"""A load from its command to its summary: the Spark job, and the coordinator or the tap for its members."""
