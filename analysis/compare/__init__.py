"""What all comparisons share: which names are the same, the noise of what is compared, and conditions (`--fail-on`)."""
