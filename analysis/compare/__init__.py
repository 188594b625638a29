"""Comparisons of two things that vary: the noise of means, and conditions on a change."""
