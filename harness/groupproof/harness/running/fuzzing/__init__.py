"""Fuzzing by Hypothesis: random histories for a coordinator, judged by the oracle, and random plans for a client, judged by universal checkers."""
