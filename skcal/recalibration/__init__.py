"""Recalibrators: probabilities in, better probabilities out."""

__all__ = []
