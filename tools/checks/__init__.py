"""What tools.doctor looks at, one module a subject."""
