"""A tiny layout that many tests use."""

NARROW = """
horizon = 30
grid = '''
XPX
O1D
X2X
XSX
'''
[orders]
ooo = { value = 20, time = 5 }
"""
