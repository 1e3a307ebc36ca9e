"""Random histories of one group for a coordinator, judged by the oracle, and shrunk."""
