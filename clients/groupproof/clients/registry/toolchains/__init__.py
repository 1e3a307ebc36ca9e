"""The toolchains, one for each language: how a release of a client is installed, how its shim is built, and how that is started."""
