"""Synergy's measured speeds, transcribed from the Python sources that hold them; nothing is run."""

import ast
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from lab.data.errors import WrongContent

NOTE = (
    "TRANSCRIBED numeric facts from msr-fiddle/synergy @1bb2bed simulator/models*/*.py "
    "(MIT, Microsoft). No code copied. tput[i][j] = speed relative to the 3-CPU/62.5-GB per-GPU "
    "fair share, for cpu_per_gpu[i] and mem_gb_per_gpu[j]."
)
CPU_PER_GPU = [1, 2, 3, 4, 5, 6, 9, 12, 24]
MEM_GB_PER_GPU = [20.83, 62.5, 125, 187.5, 250]
SERVER = {"gpus": 8, "cpus": 24, "dram_gb": 500, "storage_MBps": 500}
# The transcription in use has a value that is commented out in the source; nothing reads it.
AS_TRANSCRIBED = {("models", "transformer_4gpu"): {"iter_time": 0.99}}


def transcribe(sources: Mapping[str, bytes]) -> bytes:
    """Of `simulator/SET/MODEL_GPUS.py`, the numbers assigned to attributes, in their order."""
    sets: dict[str, dict[str, Any]] = {}
    for name, source in sources.items():
        path = PurePosixPath(name)
        group, model = path.parent.name, f"{path.stem}gpu"
        found = _numbers(name, source) | AS_TRANSCRIBED.get((group, model), {})
        sets.setdefault(group, {})[model] = found
    document = {
        "note": NOTE,
        "cpu_per_gpu": CPU_PER_GPU,
        "mem_gb_per_gpu": MEM_GB_PER_GPU,
        "server": SERVER,
        "sets": sets,
    }
    return json.dumps(document, indent=1).encode()


def _numbers(name: str, source: bytes) -> dict[str, Any]:
    try:
        found = {
            target.attr: _number(value)
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Assign)
            for target, value in [(node.targets[0], node.value)]
            if isinstance(target, ast.Attribute)
        }
        found["shape"] = [len(found["tput"]), len(found["tput"][0])]
    except (SyntaxError, ValueError, TypeError, ArithmeticError, LookupError) as error:
        raise WrongContent(f"{name}: not the numbers expected ({error!r})") from error
    return found


def _number(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.List(elts=elements):
            return [_number(element) for element in elements]
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _number(left) * _number(right)
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return round(_number(left) / _number(right), 4)
        case ast.Call(args=[argument, *_]):
            # np.array(…), and int(…), whose argument was transcribed as it is.
            return _number(argument)
    raise ValueError(f"line {node.lineno}: {ast.unparse(node)}")
