"""What holds of the members and groups of KIP-848's protocol, in any trace."""
