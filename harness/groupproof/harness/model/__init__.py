"""What everything else speaks of: cases, plans, scripts, verdicts, traces and errors, as data. Pure but for files of traces."""
