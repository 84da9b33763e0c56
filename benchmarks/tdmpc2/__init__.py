"""TD-MPC2: the core and the live reference, side by side."""
