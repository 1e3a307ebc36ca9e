"""The member of KIP-848's `consumer` protocol: a pure machine beside the classic one, with the same inputs and outputs."""
