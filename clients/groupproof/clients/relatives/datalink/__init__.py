"""A worker of DataLink: its pure machine, its assignors, and the trio program that runs tasks as it says."""
