"""The contract: packet codecs, messages, topic and process tables. stdlib and msgpack, no I/O."""
