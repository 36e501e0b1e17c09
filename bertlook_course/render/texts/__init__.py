"""Pictures of texts."""
