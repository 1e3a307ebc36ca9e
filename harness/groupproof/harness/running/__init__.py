"""Carries cases, fuzzed histories, imports and replays out, and judges what they leave behind."""
