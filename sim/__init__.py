"""Wire-level test doubles, each runnable by hand: headset, network, robots."""
