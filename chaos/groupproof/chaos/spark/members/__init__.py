"""The members of a load: their churn, and the consumers of a task."""
