"""The control suite's packages, asked inside side environments of their own."""
