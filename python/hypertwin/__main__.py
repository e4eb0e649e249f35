"""`python -m hypertwin`: the command line."""

from hypertwin.cli.main import main

if __name__ == "__main__":
    main()
