"""Pictures that draw what a deck has measured: a file for each lesson that has many of them."""
