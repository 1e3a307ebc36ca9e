"""Reports: one run as JSON, a page, JUnit, a badge and Markdown, with each case's evidence; several runs as a matrix."""
