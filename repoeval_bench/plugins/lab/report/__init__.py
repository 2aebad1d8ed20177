"""The results of this leaf as tables, plots and pages."""
