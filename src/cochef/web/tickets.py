"""How browsers are known: by a signed participant's number, or by a random token."""

import hashlib
import hmac
import secrets

_LONGEST_TOKEN = 100  # characters: tokens of strangers are remembered


def ticket(secret: bytes, number: int) -> str:
    """A participant's cookie; only the holder of the secret can make it."""
    return f"{number}.{_signature(secret, str(number))}"


def number_on(secret: bytes, text: str) -> int | None:
    """The number on a ticket, or None if it is not genuine."""
    number, _, signature = text.partition(".")
    if not number.isascii() or not number.isdigit() or len(number) > 18:
        return None
    genuine = hmac.compare_digest(signature.encode(), _signature(secret, number).encode())
    return int(number) if genuine else None


def seal(secret: bytes, text: str) -> str:
    """A text that only the holder of the secret can have written; it has no full stop."""
    return f"{text}.{_signature(secret, f'seal {text}')}"


def unsealed(secret: bytes, sealed: str) -> str | None:
    """The text that was sealed, or None if the seal is not genuine."""
    text, _, signature = sealed.partition(".")
    genuine = _signature(secret, f"seal {text}")
    return text if hmac.compare_digest(signature.encode(), genuine.encode()) else None


def alias(secret: bytes, number: int) -> str:
    """A name of a participant for pages; only the holder of the secret can tell whose it is."""
    return _signature(secret, f"alias {number}")[:16]


def token() -> str:
    """A random text that nobody can guess."""
    return secrets.token_urlsafe(24)


def is_token(text: str) -> bool:
    """Whether a text may be a token; it may also be one of a stranger's own making."""
    return 0 < len(text) <= _LONGEST_TOKEN


def same(one: str, other: str) -> bool:
    """Whether two texts are the same, in a time that does not depend on them."""
    digests = (hashlib.sha256(text.encode()).digest() for text in (one, other))
    return hmac.compare_digest(*digests)


def _signature(secret: bytes, text: str) -> str:
    return hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
