"""What some commands do, apart from their options."""
