"""Research commands on large corpora, one file for each command."""
