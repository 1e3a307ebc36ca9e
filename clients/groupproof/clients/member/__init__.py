"""The reference member as a pure machine: answers, time and calls in; requests and callbacks out."""
