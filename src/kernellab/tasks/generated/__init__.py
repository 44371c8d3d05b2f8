"""Tasks that nobody wrote: formulas drawn by a seed, as files of PyTorch code."""
