"""Random plans for a client, judged by universal checkers, and shrunk."""
