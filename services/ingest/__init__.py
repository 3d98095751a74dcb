"""RCTP over UDP in, hand_pose out."""
