"""Which KernelLab this is: here, so that every folder can say so."""

VERSION = "0.1.0"
