"""Thin DreamerV3 and TD-MPC2 agents: the code under audit."""
