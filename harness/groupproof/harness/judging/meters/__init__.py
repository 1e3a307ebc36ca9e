"""What a trace costs its group, in figures: folds over observations, resumable and mergeable, the same in a run, in `trace check` and on Spark."""
