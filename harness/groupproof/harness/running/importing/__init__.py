"""What others recorded, read as traces: logs of brokers and of clients, and captures of their packets."""
