"""Views as pages that stay live without a kernel."""
