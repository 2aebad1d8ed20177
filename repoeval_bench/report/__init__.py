"""What a person reads: tables (and later pages), made from stored results alone."""
