"""Coordinator cases: runs a script against a running cluster."""
