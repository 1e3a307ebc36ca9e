"""Two ways in which the members of a group agree, compared on the same churn: each member reads ZooKeeper, or one coordinator decides."""
