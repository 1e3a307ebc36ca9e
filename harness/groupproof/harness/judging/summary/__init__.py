"""What a whole run comes to: totals, grade, exit code, known failures and the comparison with an earlier run. Pure."""
