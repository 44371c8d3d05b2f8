"""Language models that write kernels: opened, taught by records, trained on the judge's rewards, and examined by it."""
