"""Detection of passwords and keys in notes of VMs. Only the fact that notes contain one is kept, never their text."""

from __future__ import annotations

import re

MAX_NOTES = 65_536
"""Maximum characters of notes that are searched."""
_WORDS = (
    r"(?:pass(?:[ _-]?(?:word|wort|wd|phrase|code))?|pwd|passwd|pw|kennwort|kennung|mot de passe|contrase(?:ñ|n)a|"
    r"secret|token|credentials?|zugangsdaten|(?:api|access|secret|private|license|licence)[ _-]?key|schl(?:ü|ue)ssel)"
)
_SECRET = re.compile(
    rf"(?<![a-zäöüß]){_WORDS}s?[\"']?[ \t]{{0,8}}(?::|=|[ \t](?:is|ist|lautet|lauten|are)[ \t])"
    r"[\"' \t:=>]{0,8}[^\s\"']"
    r"|-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"
    r"|(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])"
    r"|(?<![a-z0-9])(?:gh[pousr]_[a-z0-9]{20}|github_pat_[a-z0-9_]{20}|glpat-[a-z0-9_-]{16}|xox[abpr]-[a-z0-9-]{10})"
    r"|(?<![a-z0-9])eyJ[a-z0-9_-]{8,400}\.eyJ"
    r"|[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,100}:[^\s/:@]{1,100}@",
    re.IGNORECASE,
)


def looks_secret(text: str) -> bool:
    """True if a text looks as if it contains a password or a key."""
    return _SECRET.search(text[:MAX_NOTES]) is not None
