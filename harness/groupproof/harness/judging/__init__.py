"""From a trace to what it shows: checkers, the oracle, meters, the diagnosis of rebalances, and the ruling on a case and a run. Pure."""
