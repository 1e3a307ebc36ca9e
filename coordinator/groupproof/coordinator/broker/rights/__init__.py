"""What clients may do with groups and topics, and what is left of a request or an answer where they may not."""
