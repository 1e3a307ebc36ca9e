"""What all commands share: the command tree, options, progress, exit codes, and the printed end of a run."""
