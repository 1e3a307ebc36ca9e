"""The lowest layer: vocabulary, protocol tables, messages, the wire format, faults and traces."""
