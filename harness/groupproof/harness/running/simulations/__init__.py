"""Runs simulations in several processes, with the real pair, and from files."""
