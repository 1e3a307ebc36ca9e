"""The subjects and how they are reached: clients behind shims, brokers, networks and the frame tap."""
