"""The public interface behind `import cochef`; see docs/python.md.

Layouts and agents are given by name, by path or as objects. Each module is loaded when one of its
names is first used; that keeps compiled programs on disk, unless JAX has a place for them already.
"""
