"""A forward pass through decoder layers of a declared shape, without a checkpoint, and its cost."""
