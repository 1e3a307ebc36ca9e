"""The coordinator as a pure machine: events in; answers, transitions and applied rules out."""
