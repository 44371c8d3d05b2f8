"""klab view: a folder of runs as pages, served on loopback or written as files. Nothing here writes to a run."""
