"""Commands that hand out the course as files: one file a subcommand."""
