"""hand_pose in, arm_target in the robot's frame out."""
