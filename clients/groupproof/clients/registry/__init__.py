"""The registered clients: their list, their installation and their start."""
