"""From a moved head to a catalog in force: the steps, the reconciliation, the worker loop."""
