"""Programs that play brokers, on the machine or in containers, and the folders in which they write."""
