"""Judges of cases in KIP-848's protocol."""
