//! Does the oracle stay right, whatever the kernel does under it?
