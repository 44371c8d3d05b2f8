"""Runs in an experiment tracker: one listener over the event stream, one file a tracker."""
