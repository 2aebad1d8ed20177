"""What this leaf found, as tables, plots and pages."""
