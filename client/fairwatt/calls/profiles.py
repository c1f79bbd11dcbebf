"""Profiles: how kinds of jobs behave."""

from collections.abc import Sequence

from msgspec import structs

from fairwatt.call import Call, Flow, Stream, get, post
from fairwatt.calls.clusters import the_cluster
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.pages import Page, all_pages, named
from fairwatt.structs.profiles import (
    Fit,
    PointSpec,
    Prediction,
    Profile,
    ProfileSpec,
    ProfilingRun,
    ProfilingSpec,
)


class ProfileCalls(Asker):
    @stream
    def profiles(self) -> Stream[Profile]:
        """All profiles.

        >>> profile.name in {each.name for each in client.profiles()}
        True
        """
        return all_pages(self.rules, "profiles/", Page[Profile], {})

    @procedure
    def profile_named(self, name: str) -> Flow[Profile]:
        """A profile by its name.

        >>> client.profile_named(profile.name).id == profile.id
        True
        """
        return (yield from named(self.rules, "profiles/", Page[Profile], name))

    @operation
    def make_profile(self, spec: ProfileSpec, *, key: str | None = None) -> Call[Profile]:
        """Store a profile, with what was measured.

        >>> spec = fairwatt.ProfileSpec(name=name, points=[
        ...     fairwatt.PointSpec(gpu_type="A100", gpus=1, steps_per_s=11.5)])
        >>> client.make_profile(spec).basis
        'measured'
        """
        return post("profiles/", Profile, spec, key=key)

    @operation
    def add_points(self, profile_id: int, points: Sequence[PointSpec]) -> Call[Profile]:
        """Add what was measured in further configurations.

        >>> point = fairwatt.PointSpec(gpu_type="A100", gpus=2, steps_per_s=21.0)
        >>> len(client.add_points(profile.id, [point]).points)
        2
        """
        return post(f"profiles/{profile_id}/points/", Profile, {"points": points})

    @operation
    def fit(self, profile_id: int) -> Call[Fit]:
        """Fit models to a profile's points.

        >>> client.fit(profile.id).number
        1
        """
        return post(f"profiles/{profile_id}/fit/", Fit)

    @operation
    def predict(
        self,
        profile_id: int,
        *,
        gpu_type: str,
        gpus: int,
        clock: int | None = None,
        cpus: float | None = None,
        memory: float | None = None,
    ) -> Call[Prediction]:
        """How fast such a job would go, and what it would draw.

        >>> client.predict(profile.id, gpu_type="A100", gpus=1).steps_per_s
        11.5
        """
        return get(
            f"profiles/{profile_id}/predict/",
            Prediction,
            gpu_type=gpu_type,
            gpus=gpus,
            clock=clock,
            cpus=cpus,
            memory=memory,
        )

    @procedure
    def profiling_run(
        self, profile_id: int, spec: ProfilingSpec, *, key: str | None = None
    ) -> Flow[ProfilingRun]:
        """Measure a profile by a short run through CPUs and clocks.

        >>> spec = fairwatt.ProfilingSpec(argv=["true"], gpu_types=["A100"])
        >>> client.profiling_run(profile.id, spec).profile_id == profile.id
        True
        """
        cluster = spec.cluster or (yield from the_cluster(self))
        full = structs.replace(spec, cluster=cluster)
        call = post(f"profiles/{profile_id}/runs/", ProfilingRun, full, key=key)
        return (yield from self.ask(call))

    @stream
    def profiling_runs(self, profile_id: int) -> Stream[ProfilingRun]:
        """The runs that measured a profile.

        >>> len(list(client.profiling_runs(profile.id)))
        1
        """
        return all_pages(self.rules, f"profiles/{profile_id}/runs/", Page[ProfilingRun], {})
