"""From subscriptions to an assignment: range, roundrobin, sticky and cooperative-sticky. Pure."""
