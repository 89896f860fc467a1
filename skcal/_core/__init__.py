"""Pure numerics on checked float arrays: no scikit-learn, no validation, no chance."""
