"""`python -m repoeval_bench` is the command line."""

from repoeval_bench.cli import main

if __name__ == "__main__":
    main()
