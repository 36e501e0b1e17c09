"""Pictures that are drawn for one lesson, of what `results` prints."""
