"""Kernels for any graph, without a model: graph record -> loop form -> fused kernels -> candidate files to be judged.

A wrong step here may cost a trial, never a wrong claim: what is written is a candidate like any other.
"""
