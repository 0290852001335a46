"""What the checks share; the checks themselves are the files beside this folder."""
