"""What decks show and claims are decided on, where it takes fitting, training or many maps: apart from the claims, each with its version."""
