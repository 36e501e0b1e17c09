"""What a class sees, in a real browser."""
