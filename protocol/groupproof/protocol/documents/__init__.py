"""The generated documents: tables, states, releases and coverage, as Markdown."""
