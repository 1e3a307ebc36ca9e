"""The assignors range, roundrobin, sticky and cooperative-sticky: from subscriptions to an assignment. Pure."""
