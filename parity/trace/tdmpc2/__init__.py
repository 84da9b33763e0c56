"""Traces of TD-MPC2: an update and a plan, what both sides are asked, what is compared."""
