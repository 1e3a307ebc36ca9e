"""The certificate: a run's report and all its traces in one file, from which anyone can compute the verdicts again."""
