"""What runs inside the side environment of nicklashansen/tdmpc2."""
