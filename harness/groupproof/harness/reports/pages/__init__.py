"""The pages: one run, many runs over time, and subjects side by side."""
