"""FF1, a cipher that keeps the length and the alphabet of a text (NIST SP 800-38G, section 5.1), over AES.

A text is a list of digits in some radix. Ten rounds of a Feistel network exchange its halves; each round adds to one
half a number that AES makes of the other, of the tweak and of the round, modulo radix^(length of the half).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.errors import extra_package

_ROUNDS = 10
_BLOCK = 16


class FF1:
    """The cipher under one key and tweak, for texts of one radix."""

    def __init__(self, key: bytes, tweak: bytes, radix: int) -> None:
        ciphers: Any = extra_package("cryptography.hazmat.primitives.ciphers", "The form 'like'", "pseudonyms")
        # One block at a time: the chaining below is FF1's own, a message authentication code of zero start (CBC-MAC).
        self._aes = ciphers.Cipher(ciphers.algorithms.AES(key), ciphers.modes.ECB()).encryptor().update
        self._tweak, self._radix = tweak, radix
        self._heads: dict[int, tuple[bytes, bytes]] = {}

    def encrypt(self, digits: Sequence[int]) -> list[int]:
        """The digits enciphered: as many of the same radix."""
        half = len(digits) // 2
        left, right = self._number(digits[:half]), self._number(digits[half:])
        lengths = (half, len(digits) - half)
        for i in range(_ROUNDS):
            width = lengths[i % 2]
            left, right = right, (left + self._pseudorandom(len(digits), i, right)) % self._radix**width
        return self._digits(left, lengths[0]) + self._digits(right, lengths[1])

    def decrypt(self, digits: Sequence[int]) -> list[int]:
        """The digits that were enciphered to these."""
        half = len(digits) // 2
        left, right = self._number(digits[:half]), self._number(digits[half:])
        lengths = (half, len(digits) - half)
        for i in reversed(range(_ROUNDS)):
            width = lengths[i % 2]
            left, right = (right - self._pseudorandom(len(digits), i, left)) % self._radix**width, left
        return self._digits(left, lengths[0]) + self._digits(right, lengths[1])

    def _pseudorandom(self, n: int, i: int, half: int) -> int:
        """y of step 6: a number of d bytes, made of P || Q by AES."""
        size = ((self._radix ** (n - n // 2) - 1).bit_length() + 7) // 8  # b: bytes of the longer half
        wanted = 4 * ((size + 3) // 4) + 4  # d
        chained, tail = self._head(n, size)
        rest = tail + bytes([i]) + half.to_bytes(size)
        for at in range(0, len(rest), _BLOCK):
            chained = self._aes(_xor(chained, rest[at : at + _BLOCK]))
        blocks = [chained]
        blocks += [self._aes(_xor(chained, j.to_bytes(_BLOCK))) for j in range(1, -(-wanted // _BLOCK))]
        return int.from_bytes(b"".join(blocks)[:wanted])

    def _head(self, n: int, size: int) -> tuple[bytes, bytes]:
        """What is alike for all texts of this length: P and the whole blocks of Q chained, and the rest of Q."""
        if n not in self._heads:
            p = b"\x01\x02\x01" + self._radix.to_bytes(3) + bytes([_ROUNDS, n // 2 % 256])
            p += n.to_bytes(4) + len(self._tweak).to_bytes(4)
            tail = self._tweak + bytes((-len(self._tweak) - size - 1) % _BLOCK)
            chained, whole = self._aes(p), len(tail) // _BLOCK * _BLOCK
            for at in range(0, whole, _BLOCK):
                chained = self._aes(_xor(chained, tail[at : at + _BLOCK]))
            self._heads[n] = chained, tail[whole:]
        return self._heads[n]

    def _number(self, digits: Sequence[int]) -> int:
        number = 0
        for digit in digits:
            number = number * self._radix + digit
        return number

    def _digits(self, number: int, width: int) -> list[int]:
        digits = [0] * width
        for place in range(width - 1, -1, -1):
            number, digits[place] = divmod(number, self._radix)
        return digits


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left) ^ int.from_bytes(right)).to_bytes(_BLOCK)
