"""Cases over the wire: taps, Toxiproxy, real brokers, and clusters that cases share."""
