"""The members of a load: their churn, and the consumers that play them in a task."""
