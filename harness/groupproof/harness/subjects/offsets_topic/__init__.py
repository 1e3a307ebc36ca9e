"""Where the offsets topic is read from: a running cluster, and the segment files of one."""
