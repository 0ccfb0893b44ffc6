"""What a playbook is: the model, the loaders, the problems of a file."""
