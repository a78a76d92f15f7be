"""Does a sampler fit its model: tests over data that the model itself simulates.

Both ask for the prior and the simulator as functions, and for the sampler as a function too, so
that any sampler can be tested, of this library or not.
"""
