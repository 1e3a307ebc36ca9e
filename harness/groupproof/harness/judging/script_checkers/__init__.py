"""The checks of a script's trace beside the oracle: expected answers, connections, FindCoordinator, throttle times and more. Pure."""
