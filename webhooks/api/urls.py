"""Addresses of webhooks below /api/v1/."""

from rest.routing import Router
from webhooks.api.views import WebhookDeliveryViewSet, WebhookViewSet

router = Router()
router.register("webhooks", WebhookViewSet, basename="webhooks")
router.register("webhook-deliveries", WebhookDeliveryViewSet, basename="webhook-deliveries")

urlpatterns = router.urls
