"""What belongs to one deck and would make its file too long: arithmetic and sentences that only this lesson needs."""
