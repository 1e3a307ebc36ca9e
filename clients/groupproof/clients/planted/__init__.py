"""Named deviations: legal variants of released clients, and bugs planted to prove that a case finds them."""
