"""Scenarios as data: files, random scenarios, and the plan and case made of them."""
