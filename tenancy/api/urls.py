"""Addresses of tenancy below /api/v1/."""

from django.urls import re_path

from rest.routing import Router
from tenancy.api import views

router = Router()
router.register("tenants", views.TenantViewSet, basename="tenants")
router.register("memberships", views.MembershipViewSet, basename="memberships")
router.register("tokens", views.TokenViewSet, basename="tokens")
router.register("secrets", views.SecretViewSet, basename="secrets")
router.register("audit", views.AuditViewSet, basename="audit")

urlpatterns = [*router.urls, re_path(r"^me/?$", views.MeView.as_view(), name="me")]
