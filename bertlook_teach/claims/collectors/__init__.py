"""What decks show and claims are decided on, where it takes fitting, training or many maps: apart from the claims, so that a change of a claim leaves the shipped evidence as it is."""
