"""Publishing: how a class is shown. Each gives, for one attribute, what every class of a partition shows."""
