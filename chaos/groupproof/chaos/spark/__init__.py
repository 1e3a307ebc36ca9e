"""Spark: consumers as the load, traces as the data. Only this package imports pyspark, and its commands import it when they are called."""
