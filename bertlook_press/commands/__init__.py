"""Commands that write files to hand out: one file a subcommand."""
