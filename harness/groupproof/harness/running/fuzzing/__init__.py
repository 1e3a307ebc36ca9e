"""What is drawn by Hypothesis: histories of one group for a coordinator, judged by the oracle, and plans for a client, judged by what holds of any; both shrunk."""
