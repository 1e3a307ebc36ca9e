"""The sources of the offsets topic: a running cluster, and its segment files."""
