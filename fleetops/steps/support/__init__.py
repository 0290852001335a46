"""What the steps share; the steps themselves are the files beside this folder."""
