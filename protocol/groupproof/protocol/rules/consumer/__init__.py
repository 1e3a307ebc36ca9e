"""The dialect `consumer` (KIP-848) as data: its words, its table with the deltas of older releases, and its settings."""
