"""The toolchains, one for each language: they install a client's release, build its shim, and start it."""
