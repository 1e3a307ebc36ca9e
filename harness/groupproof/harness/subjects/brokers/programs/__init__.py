"""Programs around brokers that the kit starts as they are."""
