"""The checkers of members and groups of KIP-848's protocol, for any trace."""
