"""Tables that others printed, checked by arithmetic alone: what cannot be true, whatever was measured."""
