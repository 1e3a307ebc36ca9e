"""Spark: consumers as the load, traces as the data. Nothing outside of this package imports pyspark, and commands import it when they are called."""
