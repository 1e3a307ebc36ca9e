"""The reference group coordinator: a pure machine, and a trio server around it."""
