"""Fuzzing by Hypothesis: random histories of one group for a coordinator, judged by the oracle; and random plans for a client, judged by checkers that hold for any plan. Both are shrunk."""
