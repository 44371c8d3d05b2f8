"""python -m kernellab: the same as klab."""

from __future__ import annotations

from kernellab.cli.entry import main

if __name__ == "__main__":
    main()
