from typing import Any

def packb(o: Any) -> bytes: ...
def unpackb(
    packed: bytes,
    *,
    strict_map_key: bool = ...,
    max_array_len: int = ...,
    max_map_len: int = ...,
    max_ext_len: int = ...,
) -> Any: ...
