"""arm_target in, paced and gated commands to one robot arm out."""
