"""The reference group member, and the registered third-party clients behind their shims."""
