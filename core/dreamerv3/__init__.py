"""DreamerV3 (Hafner et al., 2023) for vector observations."""
