"""One file per robot; the only place where a vendor SDK may be imported."""
