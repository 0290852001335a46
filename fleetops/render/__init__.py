"""What results look like: text for people, JSON for programs. Knows only the model."""
