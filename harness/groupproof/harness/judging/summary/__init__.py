"""The result of a whole run: totals, grade, exit code, known failures and the comparison with an earlier run. Pure."""
