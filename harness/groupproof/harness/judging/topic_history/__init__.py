"""What the offsets topic tells of groups: their generations and epochs, why these began as far as records can say it, and who commits no more."""
