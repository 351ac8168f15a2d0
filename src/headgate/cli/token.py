"""`headgate token`: a token for a user of the Spark Connect endpoint."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from headgate.cli.options import AsJson
from headgate.cli.terminal import messages, output, print_json
from headgate.errors import InputError
from headgate.scenario.entry import NAME


def token(
    user: Annotated[str, typer.Argument(help="A user of the scenario that is served.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Make a token, which is shown only now, and the line with its SHA-256 for the file of `headgate serve --tokens`.

    A user may have several, as a list, so that one can be replaced without a gap: `alice: [OLD, NEW]`.

    Example: headgate token alice
    """
    if not re.fullmatch(NAME, user):
        raise InputError(f"`{user}` is no name of a user", hint="use letters, digits and `_ . @ + -`")
    # Beside the guard, which takes a second to import.
    from headgate.guard.tokens import digest_of, new_token

    made = new_token()
    if as_json:
        print_json({"user": user, "token": made, "sha256": digest_of(made)})
        return
    messages().print("give the token to the user, and put the second line into the token file:")
    output().print(f"token: {made}", soft_wrap=True)
    output().print(f"{user}: {digest_of(made)}", soft_wrap=True)
