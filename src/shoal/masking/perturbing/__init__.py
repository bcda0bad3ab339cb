"""Perturbing methods: noise, swapping, shuffling (paper 5). Values change; each stays a plausible value."""
