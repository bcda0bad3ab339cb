"""Reports: the custodian's page and the public certificate."""
