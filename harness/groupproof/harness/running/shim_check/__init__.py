"""`groupproof shim check`: a shim is put through every command, and each problem is one line."""
