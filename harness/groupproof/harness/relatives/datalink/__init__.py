"""DataLink's Managers and workers together: in virtual time, with every invariant checked at each event, and over the wire, with real tasks."""
