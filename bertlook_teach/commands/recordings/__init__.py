"""Commands about recorded attention: one file a subcommand."""
