"""The checkers of members and groups of the classic protocol, for any trace."""
