"""What is often said about attention and is wrong, each refuted by a run."""
