"""What is expected of generated candidates before any is built: features, a small model, its checkpoint.

The model is trained by `learn/prior`; here it is read and asked, with NumPy alone.
"""
