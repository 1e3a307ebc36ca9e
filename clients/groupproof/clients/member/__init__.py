"""The reference member as a pure machine. It takes answers, time and calls, and returns requests and callbacks."""
