"""Groups of consumers on a virtual ZooKeeper: what a rebalance costs as members grow, and what goes wrong when their views differ."""
