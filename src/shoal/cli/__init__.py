"""The command line: commands parse what is asked, make a job of it, run it and show the result."""
