"""Tables of who pays, who may act for them, and what was done."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from rest.constraints import Check, ConstraintRule, Unique
from rest.names import slug_name
from tenancy.roles import Role

STORAGE_QUOTA_BYTES = 100 * 2**30
SHA256_HEX = "^[0-9a-f]{64}$"


class Tenant(models.Model):
    """Who pays; quota is in GPUs, and null means unlimited."""

    name = models.CharField(max_length=63)
    display_name = models.CharField(max_length=200)
    gpu_quota = models.PositiveIntegerField(null=True, blank=True)
    gpus_in_use = models.PositiveIntegerField(default=0, editable=False)
    weight = models.DecimalField(max_digits=9, decimal_places=3, default=1)
    energy_budget_wh = models.PositiveBigIntegerField(null=True, blank=True)
    # The most it may name for an hour of lateness, whatever the currency; null is the cluster's.
    max_tardiness_price_per_h = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True
    )
    # What its archives and artifacts may take, null is unlimited; uploads under way count whole.
    storage_quota_bytes = models.PositiveBigIntegerField(
        null=True, blank=True, default=STORAGE_QUOTA_BYTES
    )
    storage_used_bytes = models.PositiveBigIntegerField(default=0, editable=False)
    suspended = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            Unique(
                "tenant_name_unique",
                ("name",),
                "name_taken: Another tenant has this name; choose another.",
            ),
            Check(
                "tenant_within_gpu_quota",
                Q(gpu_quota__isnull=True) | Q(gpus_in_use__lte=F("gpu_quota")),
                "quota_below_use: The quota may not be below the GPUs in use; wait or cancel "
                "jobs first.",
            ),
            Check(
                "tenant_within_storage_quota",
                Q(storage_quota_bytes__isnull=True)
                | Q(storage_used_bytes__lte=F("storage_quota_bytes")),
                "storage_quota_exceeded: The tenant's storage is full; delete archives and "
                "artifacts, or ask an operator for more.",
                pointer="",
            ),
            Check("tenant_weight_positive", Q(weight__gt=0), "out_of_range: A weight is above 0."),
            Check(
                "tenant_max_tardiness_price",
                Q(max_tardiness_price_per_h__isnull=True) | Q(max_tardiness_price_per_h__gte=0),
                "out_of_range: The most for an hour of lateness is not negative.",
            ),
        )

    def __str__(self) -> str:
        return self.name


class MembershipRole(models.TextChoices):
    MEMBER = Role.MEMBER.value
    ADMIN = Role.ADMIN.value


class Membership(models.Model):
    """A person's place in a tenant."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=MembershipRole, default=MembershipRole.MEMBER)
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            Unique(
                "membership_once_per_tenant",
                ("tenant", "user"),
                "already_member: This user already belongs to the tenant; change the "
                "membership instead.",
                pointer="/username",
            ),
        )

    def __str__(self) -> str:
        return f"{self.user_id} in {self.tenant_id} as {self.role}"


class ApiToken(models.Model):
    """A bearer token; only its SHA-256 is kept, which suffices for 256 random bits."""

    prefix = models.CharField(max_length=16, editable=False)
    hash = models.BinaryField(max_length=32, unique=True, editable=False)
    role = models.CharField(max_length=10, choices=[(r.value, r.value) for r in Role])
    tenant = models.ForeignKey(Tenant, models.CASCADE, null=True, blank=True, related_name="tokens")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="tokens"
    )
    name = models.CharField(max_length=100)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)
    rotated_from = models.ForeignKey(
        "self", models.SET_NULL, null=True, blank=True, related_name="successors", editable=False
    )

    class Meta:
        constraints = (
            Check(
                "token_tenant_iff_tenant_role",
                Q(role__in=[Role.MEMBER, Role.ADMIN], tenant__isnull=False)
                | (~Q(role__in=[Role.MEMBER, Role.ADMIN]) & Q(tenant__isnull=True)),
                "tenant_not_allowed: Tokens of a tenant's roles belong to a tenant, and no "
                "others do.",
                pointer="/tenant_id",
            ),
        )

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}"


class AuditRow(models.Model):
    """What was done, by whom; triggers refuse to change, delete or truncate it."""

    at = models.DateTimeField()
    token_id = models.BigIntegerField(null=True)
    user_id = models.BigIntegerField(null=True)
    role = models.CharField(max_length=10)
    tenant_id = models.BigIntegerField(null=True)
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60)
    object_id = models.BigIntegerField(null=True)
    request_id = models.CharField(max_length=100)
    changes = models.JSONField(default=dict)

    class Meta:
        verbose_name = "audit row"
        indexes = (
            models.Index(fields=("tenant_id", "at", "id"), name="audit_by_tenant"),
            models.Index(fields=("at", "id"), name="audit_by_time"),
            models.Index(fields=("object_type", "object_id"), name="audit_by_object"),
        )

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.action} {self.object_type} {self.object_id}"


class AuditSeal(models.Model):
    """A stretch of audit rows that cannot change unnoticed: its digest follows from all before."""

    explained = {
        "audit_seal_follows": ConstraintRule(
            "seal_does_not_follow", "/first_id", "A seal begins where the last one ended."
        ),
    }

    first_id = models.BigIntegerField()
    last_id = models.BigIntegerField()
    count = models.PositiveIntegerField()
    previous_digest = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)
    sealed_at = models.DateTimeField()

    class Meta:
        verbose_name = "audit seal"
        constraints = (
            Unique("audit_seal_first", ("first_id",), "sealed: These rows are sealed."),
            Unique("audit_seal_last", ("last_id",), "sealed: These rows are sealed."),
            Unique(
                "audit_seal_previous",
                ("previous_digest",),
                "sealed: Another seal follows that one.",
            ),
            Unique("audit_seal_digest", ("digest",), "sealed: Another seal has this digest."),
            Check(
                "audit_seal_range",
                Q(first_id__gte=1, last_id__gte=F("first_id"), count__gte=1),
                "out_of_range: A seal is made for one row or more.",
            ),
            Check(
                "audit_seal_hex",
                Q(digest__regex=SHA256_HEX, previous_digest__regex=SHA256_HEX),
                "invalid_digest: A digest is 64 hexadecimal digits.",
            ),
        )

    def __str__(self) -> str:
        return f"rows {self.first_id} to {self.last_id}"


class Secret(models.Model):
    """A named text of a tenant, sealed; nobody reads it again but the attempts that name it."""

    explained = {
        "tenant": ConstraintRule("unknown_tenant", "/tenant_id", "The tenant is gone."),
    }

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="secrets")
    name = models.TextField()
    sealed = models.TextField()
    version = models.PositiveIntegerField(default=1, editable=False)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = (
            Unique(
                "secret_name_taken",
                ("tenant", "name"),
                "name_taken: The tenant has a secret of this name; change that one instead.",
            ),
            slug_name("secret"),
        )

    def __str__(self) -> str:
        return self.name
