"""What Spark looks for: it imports every module at the top that is called `pyspark_…`, and takes the `DefaultSource` in it for a format."""

from __future__ import annotations

from groupproof.chaos.spark.traces.datasource import TraceSource as DefaultSource

__all__ = ["DefaultSource"]
