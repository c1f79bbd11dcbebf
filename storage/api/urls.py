"""Addresses of storage below /api/v1/."""

from rest.routing import Router
from storage.api import views

router = Router()
router.register("uploads", views.UploadViewSet, basename="uploads")
router.register("blobs", views.BlobViewSet, basename="blobs")

urlpatterns = router.urls
