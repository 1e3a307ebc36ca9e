"""Named deviations: what released clients may do, and bugs planted to prove that a case finds them."""
