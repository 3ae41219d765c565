"""What a program expects to be installed, for when it is not."""
