"""Kernels as machine code: a module's file, read a second time and compiled on first use."""

import importlib.util
import sys
from functools import cache
from inspect import isfunction
from types import ModuleType


@cache
def compiled(kernel: ModuleType) -> ModuleType:
    """A second reading of `kernel`, all its functions compiled; callees stand above callers."""
    # Half a second and 200 MB that only policies with a kernel need.
    from numba import njit  # noqa: PLC0415

    spec = importlib.util.spec_from_file_location(f"{kernel.__name__}_compiled", kernel.__file__)
    if spec is None or spec.loader is None:
        raise ImportError(f"{kernel.__file__} can not be read a second time")
    module = importlib.util.module_from_spec(spec)
    # What numba keeps on disk names the module it came from, and is looked up by that name.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    own = [f for f in vars(module).values() if isfunction(f) and f.__module__ == spec.name]
    for plain in own:
        try:
            setattr(module, plain.__name__, njit(cache=True, nogil=True)(plain))
        except RuntimeError:
            # Nowhere to keep machine code (NUMBA_CACHE_DIR names a place): each process makes it.
            setattr(module, plain.__name__, njit(nogil=True)(plain))
    return module
