"""What a script's trace is held against beside the oracle: the script's own words, connections, FindCoordinator and throttle times. Pure."""
