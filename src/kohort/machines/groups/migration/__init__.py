"""Groups whose members change from one protocol to the other while they go on consuming, and those that are mixed."""
