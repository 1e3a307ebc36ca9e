"""Why rebalances began, how long each phase took, which members it waited for, and what to configure differently, for any trace."""
