"""What traced code sees in place of real things: one module per kind of value, chosen in ``kinds``."""
