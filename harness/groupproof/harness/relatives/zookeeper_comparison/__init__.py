"""The two ways in which members of a group came to agree, on the same churn: by what each reads in ZooKeeper, and by a coordinator's one decision."""
