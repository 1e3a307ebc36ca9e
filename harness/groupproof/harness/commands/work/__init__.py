"""The work of some commands, apart from their options."""
