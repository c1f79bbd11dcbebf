"""POST /jobs/ with a ModelSerializer, as lean as one gets: only what is sent, and one INSERT."""

from django.urls import path
from rest_framework.generics import ListCreateAPIView
from rest_framework.serializers import IntegerField, ModelSerializer

from jobs.models import Job


class JobSerializer(ModelSerializer[Job]):
    # As plain numbers they are not looked up before the insert, which would cost a query each.
    tenant_id = IntegerField()
    cluster_id = IntegerField()

    class Meta:
        model = Job
        fields = ("id", "tenant_id", "cluster_id", "name", "argv", "submitted_at", "state")
        read_only_fields = ("id", "state")


class JobView(ListCreateAPIView[Job]):
    queryset = Job.objects.none()
    serializer_class = JobSerializer


urlpatterns = [path("jobs/", JobView.as_view())]
