"""A virtual ZooKeeper: what several of its servers know, answer and tell, as a pure machine."""
