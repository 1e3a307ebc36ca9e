"""Generated histories of one group: drawn with some knowledge of how the group probably stands, run side by side, judged by the oracle, shrunk."""
