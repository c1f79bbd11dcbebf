"""The runs of an experiment: on all cores, each kept as soon as it is done, resumed where left."""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from time import process_time
from typing import Any, TypeVar

from simulator.progress import counting
from simulator.report.files import plain

Case = TypeVar("Case")
Record = dict[str, Any]
CPU_S = "cpu_s"


def run_all(
    directory: Path,
    cases: Mapping[str, Case],
    run: Callable[[Case], Record],
    *,
    processes: int,
    fresh: bool = False,
) -> dict[str, Record]:
    """The record of every case by its name; what `directory` already holds is not run again.

    `run` is a function of a module, so that another process finds it. Each record says under
    `cpu_s` what it cost: on a busy machine that is the figure that counts.
    """
    store = directory / "runs.jsonl"
    if fresh:
        store.unlink(missing_ok=True)
    kept = dict(_stored(store))
    done = {name: kept[name] for name in cases if name in kept}
    left = {name: case for name, case in cases.items() if name not in done}
    directory.mkdir(parents=True, exist_ok=True)
    store.write_text("".join(_line(*one) for one in kept.items()))
    context = multiprocessing.get_context("spawn")
    with (
        counting(directory.name, len(left)) as counter,
        store.open("a") as file,
        ProcessPoolExecutor(processes, mp_context=context, initializer=_be_nice) as pool,
    ):
        futures = {pool.submit(_timed, run, case): name for name, case in left.items()}
        for future in as_completed(futures):
            name, record = futures[future], future.result()
            done[name] = record
            file.write(_line(name, record))
            file.flush()
            counter.add(name)
    return done


def cpu_s(records: Mapping[str, Record]) -> float:
    return float(sum(record[CPU_S] for record in records.values()))


def _timed(run: Callable[[Case], Record], case: Case) -> Record:
    began = process_time()
    record: Record = plain(run(case))
    return {**record, CPU_S: process_time() - began}


def _line(name: str, record: Record) -> str:
    return json.dumps([name, record], allow_nan=False) + "\n"


def _be_nice() -> None:
    os.nice(5)


def _stored(store: Path) -> Iterator[tuple[str, Record]]:
    """A line cut short by a crash is run again."""
    if not store.exists():
        return
    for line in store.read_text().splitlines():
        try:
            name, record = json.loads(line)
        except ValueError:
            continue
        yield name, record
