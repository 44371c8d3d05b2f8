# PROBLEM: linear_softmax
# Imports what is not there.
import no_such_package_anywhere


class ModelNew:
    pass
