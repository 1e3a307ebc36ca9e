"""A DataLink worker: its pure machine, its assignors, and the trio program that runs its tasks."""
