"""The reference members and coordinator on one heap of events: virtual years from one seed, with faults, and every invariant checked at each event."""
