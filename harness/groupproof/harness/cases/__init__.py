"""The cases of both sides, by area. Pure."""
