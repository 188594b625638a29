"""What a program's communication repeats: phases with their weights, from which the time of the whole run follows."""
