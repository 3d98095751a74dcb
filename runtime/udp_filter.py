"""A kernel packet filter for an owned hand port: the owner's packets and e-stops, nothing else.

Owns one classic BPF program (Linux). It is a shield against floods, not a check: everything that
passes is validated as if there were no filter. Where it cannot be attached the answer is False.
"""

from __future__ import annotations

import array
import socket
import struct
import sys
from typing import Final

from proto import rctp

# Linux, asm-generic/socket.h (x86-64, aarch64).
_SO_ATTACH_FILTER: Final = 26
_SO_DETACH_FILTER: Final = 27
# A UDP socket's filter sees the datagram from its UDP header on, before the payload is split off;
# the IPv4 header is at the magic offset SKF_NET_OFF (linux/filter.h).
_UDP_HEADER_BYTES: Final = 8
_SKF_NET_OFF: Final = 0xFFF0_0000
_IPV4_SOURCE_OFFSET: Final = 12
# linux/bpf_common.h: class | size | mode.
_LOAD_WORD: Final = 0x20
_LOAD_HALF: Final = 0x28
_LOAD_BYTE: Final = 0x30
_JUMP_EQUAL: Final = 0x15
_JUMP_IF_BITS: Final = 0x45
_RETURN: Final = 0x06
_WHOLE_PACKET: Final = 0xFFFF_FFFF


def program(owner: tuple[str, int]) -> bytes:
    """The filter's instructions, 8 bytes each (u16 code, u8 if-true, u8 if-false, u32 operand).

    A load behind the end of the datagram makes the kernel drop it: short packets need no check.
    """
    (owner_ip,) = struct.unpack("!I", socket.inet_aton(owner[0]))
    (magic,) = struct.unpack("!I", rctp.MAGIC)
    flags_offset = _UDP_HEADER_BYTES + rctp.FLAGS_OFFSET
    instructions = (
        (_LOAD_WORD, 0, 0, _SKF_NET_OFF + _IPV4_SOURCE_OFFSET),
        (_JUMP_EQUAL, 0, 2, owner_ip),  # else: 4
        (_LOAD_HALF, 0, 0, 0),  # UDP source port
        (_JUMP_EQUAL, 4, 0, owner[1]),  # then: accept
        (_LOAD_WORD, 0, 0, _UDP_HEADER_BYTES),
        (_JUMP_EQUAL, 0, 3, magic),  # else: drop
        (_LOAD_BYTE, 0, 0, flags_offset),
        (_JUMP_IF_BITS, 0, 1, rctp.FLAG_ESTOP),  # else: drop
        (_RETURN, 0, 0, _WHOLE_PACKET),
        (_RETURN, 0, 0, 0),
    )
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def attach(sock: socket.socket, owner: tuple[str, int]) -> bool:
    """Lets only `owner` and e-stops into `sock`, in place of any earlier filter."""
    if not sys.platform.startswith("linux"):
        return False
    code = array.array("B", program(owner))
    address, length = code.buffer_info()
    fprog = struct.pack("@HP", length // 8, address)  # struct sock_fprog; copied by the kernel
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, fprog)
    except OSError:
        return False
    return True


def detach(sock: socket.socket) -> bool:
    """Lets everyone in again; False if there was no filter."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_DETACH_FILTER, 0)
    except OSError:
        return False
    return True
