"""What the checkers know of a group, read once from its frames: members, generations, epochs, and who owns a partition."""
