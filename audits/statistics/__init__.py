"""Statistics that tell equal from unproven, over seeds and never over episodes.

The episodes of one seed are played by one set of parameters: they say how sure a seed's own
figure is, and nothing about how the next seed would come out.
"""
