"""Coordinator cases: a script is carried out against a running cluster."""
