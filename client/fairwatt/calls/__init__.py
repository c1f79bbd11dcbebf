"""Every call of the API that this client knows, described once, by noun."""

from fairwatt.calls.arrays import ArrayCalls
from fairwatt.calls.artifacts import ArtifactCalls
from fairwatt.calls.base import Connected
from fairwatt.calls.clusters import ClusterCalls
from fairwatt.calls.energy import EnergyCalls
from fairwatt.calls.follow import FollowCalls
from fairwatt.calls.forecasts import ForecastCalls
from fairwatt.calls.jobs import JobCalls
from fairwatt.calls.nodes import NodeCalls
from fairwatt.calls.profiles import ProfileCalls
from fairwatt.calls.simulations import SimulationCalls
from fairwatt.calls.tariffs import TariffCalls
from fairwatt.calls.uploads import UploadCalls
from fairwatt.calls.watch import WatchCalls
from fairwatt.calls.webhooks import WebhookCalls


class Calls(
    JobCalls,
    FollowCalls,
    WatchCalls,
    ArrayCalls,
    ForecastCalls,
    EnergyCalls,
    ClusterCalls,
    NodeCalls,
    ProfileCalls,
    TariffCalls,
    SimulationCalls,
    UploadCalls,
    ArtifactCalls,
    WebhookCalls,
    Connected,
):
    """What `Client` and `AsyncClient` can do."""


__all__ = ["Calls"]
