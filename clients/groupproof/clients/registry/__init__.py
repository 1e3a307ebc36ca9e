"""The registered clients: which there are, how each is installed and run."""
