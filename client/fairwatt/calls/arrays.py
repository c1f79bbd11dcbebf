"""Arrays: many jobs submitted as one."""

from msgspec import structs

from fairwatt.call import Call, Flow, Stream, get, post
from fairwatt.calls.jobs import completed
from fairwatt.operation import Asker, operation, procedure, stream
from fairwatt.pages import Page, all_pages
from fairwatt.structs.arrays import Array, ArrayDetail, ArraySpec
from fairwatt.structs.jobs import Cancelled


class ArrayCalls(Asker):
    @procedure
    def submit_array(self, spec: ArraySpec, *, key: str | None = None) -> Flow[Array]:
        """Submit an array: all of its jobs or none.

        >>> spec = fairwatt.ArraySpec(name="sweep", size=2, job=fairwatt.JobSpec(argv=["true"]))
        >>> array = client.submit_array(spec)
        >>> array.size
        2
        """
        job = yield from completed(self, spec.job)
        full = structs.replace(spec, job=job)
        return (yield from self.ask(post("arrays/", Array, full, key=key)))

    @operation
    def array(self, array_id: int) -> Call[ArrayDetail]:
        """An array, with how many of its jobs are in each state.

        >>> client.array(array.id).name
        'sweep'
        """
        return get(f"arrays/{array_id}/", ArrayDetail)

    @stream
    def arrays(self) -> Stream[Array]:
        """All arrays.

        >>> "sweep" in {each.name for each in client.arrays()}
        True
        """
        return all_pages(self.rules, "arrays/", Page[Array], {})

    @operation
    def cancel_array(self, array_id: int) -> Call[Cancelled]:
        """Cancel all jobs of an array that are not over.

        >>> stopped = client.cancel_array(array.id)
        """
        return post(f"arrays/{array_id}/cancel/", Cancelled)
