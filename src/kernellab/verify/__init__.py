"""The judge. Called, kernellab.verify(...) is the API function."""

from kernellab.core.callable_package import make_callable

make_callable(__name__)
