"""Runs client cases: a plan against a subject and a cluster of its own."""
