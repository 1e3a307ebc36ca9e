"""Random plans for a client, judged by checkers that hold for any plan, and shrunk."""
