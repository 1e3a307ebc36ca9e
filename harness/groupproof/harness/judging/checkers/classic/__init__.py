"""What holds of the members and groups of the classic protocol, in any trace."""
