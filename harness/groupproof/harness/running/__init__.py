"""Runs cases, fuzzed histories, imports and replays, and judges their traces."""
