"""Who is under test, and how it is reached: clients behind shims, brokers, networks and the frame tap."""
