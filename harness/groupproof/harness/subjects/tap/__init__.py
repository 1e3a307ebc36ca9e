"""The frame tap: it stands between any clients and any broker, observes every frame, and can inject faults."""
