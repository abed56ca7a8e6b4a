"""``python -m lamella``: the same as the command ``lamella``."""

from lamella._cli import main

raise SystemExit(main())
