"""The recipe transformer: a small policy that chooses a recipe and its parameters for a task at a shape."""
