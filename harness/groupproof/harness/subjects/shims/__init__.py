"""Shims: the lines that they speak, the dialogue with one, and the process behind it."""
