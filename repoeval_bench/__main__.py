"""`python -m repoeval_bench` is the command line."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # -m puts the current folder first, where code to chunk may be called as a module.
        sys.path.append(sys.path.pop(0))
    from repoeval_bench.cli import main

    main()
