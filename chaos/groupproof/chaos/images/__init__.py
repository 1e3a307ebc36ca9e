"""Images built out of this machine's files, for where the official ones cannot be had."""
