"""How numbers are read from the command line, with errors in plain words."""

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

REGISTRY = ConstructorRegistry()


@REGISTRY.primitive_rule
def _whole_number(found: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int | None] | None:
    if found.type not in (int, int | None):
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="INT",
        instance_from_str=_read_whole_number,
        is_instance=lambda instance: instance is None or type(instance) is int,
        str_from_instance=lambda instance: [str(instance)],
    )


@REGISTRY.primitive_rule
def _number(found: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[float | None] | None:
    if found.type not in (float, float | None):
        return None
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar="FLOAT",
        instance_from_str=_read_number,
        is_instance=lambda instance: isinstance(instance, int | float | None),
        str_from_instance=lambda instance: [str(instance)],
    )


def _read_whole_number(words: list[str]) -> int:
    try:
        return int(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is no whole number") from None


def _read_number(words: list[str]) -> float:
    try:
        return float(words[0])
    except ValueError:
        raise ValueError(f"{words[0]!r} is no number") from None
