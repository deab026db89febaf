"""Everything that knows what a text is: datasets, encoders, generators."""
