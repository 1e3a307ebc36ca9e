"""The clients' rights on groups and topics, and their effect on requests and answers."""
