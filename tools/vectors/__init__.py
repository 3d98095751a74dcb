"""The golden packets that tools.gen_vectors writes."""
