"""Load generators in: their jobs and their reports."""
