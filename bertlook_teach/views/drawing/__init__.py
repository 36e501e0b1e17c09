"""How views are drawn: SVG and the sentences that say what is to be seen."""
