"""Cases over the wire: taps, Toxiproxy, real brokers, and the clusters that cases share."""
