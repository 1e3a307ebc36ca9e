"""Groups by the offsets topic: their generations and epochs, the causes as far as records show them, and stalled commits."""
