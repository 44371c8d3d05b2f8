"""Certificates: what was confirmed, signed; whether it still holds; who looked at it; and the way into other code."""
