"""Research commands on large corpora: one file a command."""
