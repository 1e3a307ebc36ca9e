"""The reference consumer: drives a member over connections, and reads what it owns (trio)."""
