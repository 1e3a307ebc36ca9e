"""The checkers by Spark: over whole traces, and over a trace that is still being written."""
