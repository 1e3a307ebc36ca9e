"""The checkers of members that hold in the classic and the consumer dialect alike: who reads, fetches and commits what, and how often."""
