"""The app of `shoal ui`: a local server, its two workers, and a screen for each step of a release."""
