"""Read run directories into the model."""
