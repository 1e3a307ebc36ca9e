"""Named deviations: what other coordinators may do, and bugs planted to prove that a case finds them."""
