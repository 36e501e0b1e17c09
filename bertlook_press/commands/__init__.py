"""Commands that write files to hand out: one file for each subcommand."""
