"""Shims: the lines of the contract, the dialogue with one shim, and its process."""
