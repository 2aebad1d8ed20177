"""The tests of the command line hold whatever the user's shell says of colours, widths, language and bytecode."""

from support.command import python


def test_no_module_of_the_current_folder_is_imported(tmp_path):
    """It may be the code to chunk; `-m` puts it first on Python's path."""
    for name in ("numbers", "typing", "click"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')\n")
    done = python("-m", "repoeval_bench", "list", "measures", cwd=tmp_path)
    assert done.code == 0, done.err
