"""The brokers around the machine: sockets, connections, metadata, records, and faults on frames."""
