"""The museum: known bugs of released clients, and the cases that tell the release with the bug from the one without it."""
