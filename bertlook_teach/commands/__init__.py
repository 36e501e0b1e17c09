"""The ``bertlook`` command: one file a subcommand."""
