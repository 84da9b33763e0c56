"""What runs inside the side environment of danijar/dreamerv3, paper era."""
