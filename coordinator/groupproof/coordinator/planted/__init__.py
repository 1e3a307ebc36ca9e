"""Named variants of the reference: deviations that the protocol allows, and bugs planted to prove that a case finds them."""
