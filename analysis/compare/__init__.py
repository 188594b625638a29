"""What all comparisons share: the noise of what is compared, and conditions on a change (`--fail-on`)."""
