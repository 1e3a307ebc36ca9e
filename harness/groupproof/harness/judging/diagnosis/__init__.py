"""Why rebalances began, how long each phase took, who was waited for, and what to set differently; of any trace."""
