"""Trials as data: a request goes in, a record comes out, whoever asks and wherever it is done."""
