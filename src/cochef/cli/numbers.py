"""How numbers are read from the command line, with errors in plain words."""

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

REGISTRY = ConstructorRegistry()

NumberSpec = PrimitiveConstructorSpec[int | float | None]


@REGISTRY.primitive_rule
def _number(found: PrimitiveTypeInfo) -> NumberSpec | None:
    if found.type in (int, int | None):
        return _spec(int, "whole number", "INT")
    if found.type in (float, float | None):
        return _spec(float, "number", "FLOAT")
    return None


def _spec(kind: type[int] | type[float], described: str, metavar: str) -> NumberSpec:
    def read(words: list[str]) -> int | float:
        try:
            return kind(words[0])
        except ValueError:
            raise ValueError(f"{words[0]!r} is no {described}") from None

    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=read,
        # A whole number is also a number.
        is_instance=lambda instance: instance is None or type(instance) in (int, kind),
        str_from_instance=lambda instance: [str(instance)],
    )
