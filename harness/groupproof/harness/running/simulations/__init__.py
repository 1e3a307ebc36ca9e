"""Simulations by several processes, by the real pair, and out of files."""
