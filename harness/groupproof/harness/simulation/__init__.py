"""The reference members and coordinator on one heap of events: virtual years from one seed, with faults, every law of the protocol held at each event."""
