"""Pictures that one deck alone shows: a file for each lesson that has many of them."""
