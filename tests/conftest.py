"""Every test runs with the shapes and types of the package checked."""

from jaxtyping import install_import_hook

install_import_hook("cochef", "beartype.beartype")

from cochef.compilation import keep_compiled  # noqa: E402  (the hook has to be in place first)

keep_compiled()
