"""The environments that Gymnasium knows by name: one for every layout that ships."""

from cochef.errors import missing_extra
from cochef.kitchen import layouts

try:
    import gymnasium
except ImportError as error:
    raise ImportError(missing_extra(error.name, "envs")) from error

NAMESPACE = "CoChef"
_SINGLE = "cochef.adapters.gymnasium:KitchenWithPartner"
_MANY = "cochef.adapters.gymnasium_vector:VectorKitchens"


def environment_id(layout: str) -> str:
    """The name by which Gymnasium knows the environment of a layout."""
    return f"{NAMESPACE}/{layout}-v0"


def register_environments() -> None:
    """Tell Gymnasium the environments of all layouts that ship."""
    for name in layouts.names():
        if environment_id(name) not in gymnasium.registry:
            gymnasium.register(
                environment_id(name),
                entry_point=_SINGLE,
                vector_entry_point=_MANY,
                kwargs={"layout": name},
            )
