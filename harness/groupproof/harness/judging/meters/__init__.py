"""What a trace costs its group, in figures. Meters can be resumed and merged, and work the same in a run, in `trace check` and on Spark."""
