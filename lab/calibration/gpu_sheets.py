"""Nominal limits of the GPU types that ship with the project."""

from lab.calibration.load import FittedGpuType


def _clocks(low_mhz: int, high_mhz: int, step_mhz: int) -> tuple[int, ...]:
    return tuple(sorted({high_mhz, *range(low_mhz, high_mhz + 1, step_mhz)}))


# Idle watts are the lowest mean that Zeus saw, rounded down (V100, P100, RTX6000), else assumed as
# of cards of the same size. `gpus_per_node` is how many GPUs are joined most closely: the two of a
# K80's board, and four T4s, beyond which ElasticFlow's figures drop.
SHEETS = {
    sheet.name: sheet
    for sheet in (
        FittedGpuType(
            name="A100",
            idle_w=50.0,
            max_w=400.0,
            clocks_mhz=_clocks(210, 1410, 15),
            mem_mib=40_960,
            source="data sheet (SXM4, 40 GB): 400 W, 210-1410 MHz; idle assumed",
        ),
        FittedGpuType(
            name="V100",
            idle_w=34.0,
            max_w=250.0,
            clocks_mhz=_clocks(135, 1380, 15),
            mem_mib=16_384,
            source="nominal, unchecked (PCIe): 250 W, 135-1380 MHz; idle from Zeus",
        ),
        FittedGpuType(
            name="P100",
            idle_w=33.0,
            max_w=250.0,
            clocks_mhz=_clocks(544, 1328, 14),
            mem_mib=16_384,
            source="nominal, unchecked (PCIe): 250 W, 544-1328 MHz; idle from Zeus",
        ),
        FittedGpuType(
            name="RTX6000",
            idle_w=54.0,
            max_w=260.0,
            clocks_mhz=_clocks(300, 2100, 15),
            mem_mib=24_576,
            source="nominal, unchecked (Quadro, Turing): 260 W, 300-2100 MHz; idle from Zeus",
        ),
        FittedGpuType(
            name="T4",
            idle_w=10.0,
            max_w=70.0,
            clocks_mhz=_clocks(300, 1590, 15),
            mem_mib=15_360,
            gpus_per_node=4,
            source="nominal, unchecked: 70 W, 300-1590 MHz; idle assumed",
        ),
        FittedGpuType(
            name="K80",
            idle_w=25.0,
            max_w=150.0,
            clocks_mhz=_clocks(324, 875, 13),
            mem_mib=11_441,
            gpus_per_node=2,
            source="nominal, unchecked (half a board): 150 W, 324-875 MHz; idle assumed",
        ),
    )
}
