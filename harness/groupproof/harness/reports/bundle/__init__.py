"""The certificate: a run's report with all that its verdicts rest on in one file, and that file recomputed by whoever doubts it."""
