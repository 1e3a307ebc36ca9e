"""One whole run, for either side: selects cases, runs them, rules on them and sums them up."""
