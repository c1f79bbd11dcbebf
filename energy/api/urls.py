"""Addresses of energy and money below /api/v1/."""

from django.urls import re_path

from energy.api.power import ClusterPowerView
from energy.api.statements import JobEnergyView, NodeEnergyView, RepriceView, StatementView
from rest.routing import ID

urlpatterns = [
    re_path(rf"^jobs/(?P<job_id>{ID})/energy/?$", JobEnergyView.as_view(), name="job-energy"),
    re_path(rf"^tenants/(?P<tenant_id>{ID})/statement/?$", StatementView.as_view()),
    re_path(rf"^nodes/(?P<node_id>{ID})/energy/?$", NodeEnergyView.as_view()),
    re_path(rf"^clusters/(?P<cluster_id>{ID})/power/?$", ClusterPowerView.as_view(), name="power"),
    re_path(rf"^clusters/(?P<cluster_id>{ID})/reprice/?$", RepriceView.as_view()),
]
