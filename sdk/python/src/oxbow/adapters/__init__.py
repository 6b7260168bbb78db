"""Oxbow behind the interfaces of other frameworks. Each module needs the extra of its name."""
