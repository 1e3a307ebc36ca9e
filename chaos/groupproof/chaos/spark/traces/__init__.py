"""Traces of a load in storage: segments that tasks write, and the rows that Spark reads."""
