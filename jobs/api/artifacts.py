"""What a job left behind, over HTTP: listed, downloaded, deleted."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from jobs import selectors
from jobs.api import structs
from jobs.artifacts import all_artifacts, artifact_delete, artifacts
from jobs.models import Artifact
from rest.json import JSONRenderer
from rest.problems import Conflict, NotFound
from rest.schema import AutoSchema
from rest.views import DestroyMixin, JSONView, ListMixin, ResourceViewSet, RetrieveMixin
from storage.download import OCTETS, blob_response


class OctetRenderer(BaseRenderer):
    """Only takes part in negotiation; the bytes are streamed."""

    media_type = OCTETS
    format = "bin"


class ContentSchema(AutoSchema):
    """Answers bytes, all of them or a range."""

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses = super()._get_response_bodies(direction)
        binary = {"type": "string", "format": "binary"}
        whole = {"schema": binary, "example": '{"epochs": 40, "accuracy": 1.0}'}
        responses["200"]["content"] = {OCTETS: whole}
        part = {"description": "The range that was asked for.", "content": {OCTETS: whole}}
        no_range = {**responses["404"], "description": "Requested Range Not Satisfiable"}
        return {**responses, "206": part, "416": no_range}

    def _get_parameters(self) -> list[dict[str, Any]]:
        about = "To go on with a broken download, as in `bytes=1048576-`."
        wanted = {
            "name": "Range",
            "in": "header",
            "required": False,
            "description": about,
            "schema": {"type": "string"},
        }
        return [*super()._get_parameters(), wanted]


class ArtifactMembers(ResourceViewSet):
    """What both lists and single artifacts show."""

    def members(self, row: Artifact) -> Mapping[str, Any]:
        blob = row.blob
        return {
            "size": None if blob is None else blob.size,
            "digest": None if blob is None else blob.digest,
        }


class JobArtifactViewSet(ArtifactMembers, ListMixin):
    """Of one job, the newest first. `pending` ones are on their way from their nodes."""

    resource = "job_artifacts"
    rights = {"list": "artifacts.read"}
    output = structs.ArtifactOut

    def rows(self) -> QuerySet[Artifact]:
        job = selectors.jobs(self.caller).filter(pk=int(self.kwargs["job_id"])).first()
        if job is None:
            raise NotFound
        return artifacts(self.caller, job)


class ArtifactViewSet(ArtifactMembers, RetrieveMixin, DestroyMixin):
    """One artifact of an attempt. It is kept for a time, and counts towards the storage quota."""

    resource = "artifacts"
    rights = {"retrieve": "artifacts.read", "destroy": "artifacts.write"}
    output = structs.ArtifactOut

    def rows(self) -> QuerySet[Artifact]:
        return all_artifacts(self.caller)

    def perform_destroy(self, row: Artifact) -> None:
        artifact_delete(self.caller, row)


class ArtifactContentView(JSONView):
    """The bytes of an artifact; a folder is one tar.gz."""

    resource = "artifact_content"
    rights = {"get": "artifacts.read"}
    output = structs.ArtifactOut
    renderer_classes = (JSONRenderer, OctetRenderer)
    schema = ContentSchema()

    def get(self, request: Request, id: str) -> HttpResponseBase:  # noqa: A002  # the path's name
        artifact = all_artifacts(self.caller).filter(pk=int(id)).first()
        if artifact is None:
            raise NotFound
        if artifact.blob is None:
            detail = artifact.detail or "Its node has not sent it yet; come back."
            raise Conflict(detail, code=f"artifact_{artifact.state}")
        return blob_response(request._request, artifact.blob, artifact.file_name)
