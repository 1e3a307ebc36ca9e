"""Programs that run brokers, on this computer or in containers, and the folders in which they write."""
