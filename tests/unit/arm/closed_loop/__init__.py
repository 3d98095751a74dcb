"""The pipe from headset packets to robot in one process, on a clock that moves only when told.

One seed is one run: hands, networks, restarts, stops and orders come from one random stream.
"""
