"""The checkers by Spark: over whole traces, and over one that is still written."""
