"""``python -m lamella.compat``: see :mod:`lamella.compat`."""

from lamella.compat import main

main()
