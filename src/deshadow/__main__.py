"""`python -m deshadow` is `deshadow`."""

from deshadow.cli import main

if __name__ == "__main__":
    main()
