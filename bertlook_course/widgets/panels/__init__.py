"""Views made of several views and controls."""
