"""What runs inside the side environments of nicklashansen/tdmpc2."""
