"""The harness: cases, judges, the runner, verdicts and reports."""
