"""What the engine files share; the engines themselves are the files beside this folder."""
