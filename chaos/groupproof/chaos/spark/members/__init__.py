"""The members of a load: what befalls them, and the consumers that play them in a task."""
