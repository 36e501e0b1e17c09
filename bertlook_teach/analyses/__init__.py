"""What is asked of many sentences: one folder a topic."""
