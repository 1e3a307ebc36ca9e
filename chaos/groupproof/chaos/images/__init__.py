"""Images built from this machine's files, where the official ones are not available."""
