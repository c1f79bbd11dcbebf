"""One odd attempt is not believed; three in a row are, and the profile says that it drifted."""

import pytest

from jobs.profiling.judgement import SpeedVerdict, drift_text, judged


@pytest.mark.parametrize(
    ("ratio", "earlier", "verdict"),
    [
        (1.02, [], SpeedVerdict(accepted=True)),
        (0.7, [1.0, 1.0], SpeedVerdict(accepted=True)),
        (0.6, [], SpeedVerdict(accepted=False)),
        (1.6, [1.0, 1.0], SpeedVerdict(accepted=False)),
        (0.5, [0.5], SpeedVerdict(accepted=False)),
        # On either side of what is known: noise, not a change.
        (0.5, [1.7, 0.5], SpeedVerdict(accepted=False)),
        # A little, but always: within what counts as the same.
        (1.1, [1.1, 1.1], SpeedVerdict(accepted=True)),
        (0.9, [0.7, 0.7], SpeedVerdict(accepted=True)),
        (0.5, [0.5, 0.5], SpeedVerdict(accepted=True, drift=0.5)),
        (1.25, [1.25, 1.25, 1.0], SpeedVerdict(accepted=True, drift=1.25)),
    ],
)
def test_judged(ratio: float, earlier: list[float], verdict: SpeedVerdict) -> None:
    found = judged(ratio, earlier)
    assert found.accepted is verdict.accepted
    assert found.drift == pytest.approx(verdict.drift)


def test_a_drift_is_said_in_words() -> None:
    assert drift_text(0.5) == "The last 3 attempts were 50% slower than what was known."
    assert drift_text(1.25) == "The last 3 attempts were 25% faster than what was known."
