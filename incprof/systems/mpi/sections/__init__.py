"""Reports on traces, signatures and predictions: text, JSON, pictures, and the part of the page."""
