from cochef.kitchen import layouts


def test_every_shipped_layout_is_a_kitchen():
    for name in layouts.names():
        assert layouts.get(name).name == name
