"""How a flag's value is followed through a package: the program's names, its values, its calls, and what they prove."""
