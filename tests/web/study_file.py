"""A study file with two layouts and partners that compile quickly."""

from importlib import resources

LAYOUTS = """
[layouts.coordination_ring]
HSP = "human-proxy:coordination_ring"
MEP = "human-clone:coordination_ring"
FCP = "random"
TrajDiv = "stay"

[layouts.asymmetric_advantages]
HSP = "human-proxy:asymmetric_advantages"
MEP = "human-clone:asymmetric_advantages"
FCP = "random"
TrajDiv = "stay"
"""


def write_study(path, **numbers):
    """Write the shipped study with these layouts and numbers; its path as text."""
    text = (resources.files("cochef.web") / "studies" / "paper.toml").read_text("utf-8")
    text = text.replace('contact = ""', 'contact = "Ada, ada@example.org"')
    before = text.split("[layouts.asymmetric_advantages]")[0]
    after = text.split("[[questions]]", 1)[1]
    for name, value in numbers.items():
        line = next(line for line in before.splitlines() if line.startswith(f"{name} ="))
        before = before.replace(line, f"{name} = {value}")
    path.write_text(f"{before}{LAYOUTS}\n[[questions]]{after}", "utf-8")
    return str(path)
