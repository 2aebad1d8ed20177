"""What every room speaks: types and spans, errors, specs, files, validation, progress. Imports nothing of ours."""
