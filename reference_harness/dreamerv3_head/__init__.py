"""danijar/dreamerv3 at its head, asked inside its side environment."""
