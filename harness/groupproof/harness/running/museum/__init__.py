"""The museum: known bugs of released clients, and the cases that separate a release with the bug from one without it."""
