"""A deck as one file that stays live without a kernel or a network, and as a page to read."""
