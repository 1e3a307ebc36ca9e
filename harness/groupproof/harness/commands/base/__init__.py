"""What all commands share: the tree of commands, options, progress, exit codes, and the end of a run for a person."""
