"""What several test modules share: data, models, assertions and ways to run commands."""
