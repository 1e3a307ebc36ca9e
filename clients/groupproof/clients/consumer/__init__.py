"""The reference consumer: runs a member over connections and reads its partitions (trio)."""
