"""Study files for tests: with stand-ins, and with partners that compile quickly."""

import re
from importlib import resources

STAND_IN = "stand_in = true"
SCRIPT = "script:onion_placement_and_delivery"

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


def with_stand_ins(text):
    """The text of the shipped study with a script for MEP and TrajDiv, whatever it has for them."""
    text = re.sub('^(MEP|TrajDiv) = ".*"', rf'\1 = "{SCRIPT}"', text, flags=re.MULTILINE)
    return text if STAND_IN in text else text.replace("agents = [", f"{STAND_IN}\nagents = [", 1)


def write_study(path, **numbers):
    """Write the shipped study with these layouts and numbers; its path as text."""
    text = (resources.files("cochef.web") / "studies" / "paper.toml").read_text("utf-8")
    text = with_stand_ins(text).replace('contact = ""', 'contact = "Ada, ada@example.org"')
    before = text.split("[layouts.asymmetric_advantages]")[0]
    after = text.split("[[questions]]", 1)[1]
    for name, value in numbers.items():
        line = next(line for line in before.splitlines() if line.startswith(f"{name} ="))
        before = before.replace(line, f"{name} = {value}")
    path.write_text(f"{before}{LAYOUTS}\n[[questions]]{after}", "utf-8")
    return str(path)
