"""The state of a group, read once from its frames for all checkers: members, generations, epochs, and partition owners."""
