"""Scenarios as data: files, drawn ones, the plan and the case that they become."""
