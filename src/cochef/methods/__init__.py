"""The paper's methods; a file holds only what is different about its method."""
