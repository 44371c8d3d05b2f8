"""PyTorch modules as data: captured to a graph record, evaluated in float64, with a scale for every output.

    file or object --capture--> GraphRecord --evaluate--> values in float64
                                            --scale-----> value, scale and budget of every output

`ops/` is the one table of operators that all of this reads. Torch is an extra: it is imported when it is needed, never with
this package.
"""
