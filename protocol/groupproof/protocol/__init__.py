"""The layer under everything: vocabulary, the spec table, messages, the wire, faults and traces."""
