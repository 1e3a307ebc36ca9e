"""The dialect `consumer` (KIP-848) as data: its terms, its table with the deltas of older releases, and its settings."""
