"""What several test folders use."""
