"""The memory guard: a tiny watcher on the node that ends a service before the service ends the node (DESIGN 7).

`rooms`, `family`, `keeping` and `watcher` are what runs on the node: they travel as one file (`program`) and know the
standard library alone, Python 3.8 and newer. `fallback` stands in for them where there is only a shell. `commands`
starts and steers it from here, `watching` is what the other steps ask of it.
"""
