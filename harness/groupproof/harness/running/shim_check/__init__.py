"""`groupproof shim check`: runs every command of a shim and prints each problem as one line."""
