"""Client cases: a plan is carried out against a subject and a cluster of its own."""
