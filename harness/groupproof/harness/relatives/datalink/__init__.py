"""DataLink's Managers and workers together: in virtual time with a law held at each event, and over the wire with tasks that really run."""
