"""The tests of jitmagic; folders mirror the package."""
