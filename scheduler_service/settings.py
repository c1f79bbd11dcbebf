"""Django settings; every knob is an environment variable listed in docs/settings.md."""

import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

from scheduler_service import environment
from scheduler_service.words import TAGS

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(environment.text("FAIRWATT_VAR", str(BASE_DIR / "var")))
DATA_DIR = Path(environment.text("FAIRWATT_DATA", str(BASE_DIR.parent / "shared" / "data")))

PRODUCTION = environment.text("FAIRWATT_ENV", "development") == "production"
DEBUG = False
SECRET_KEY = environment.secret("SECRET_KEY", production=PRODUCTION)
# What secrets and the variables of jobs are sealed with, the newest first (tenancy/sealing.py).
SECRETS_KEYS = environment.sealing_keys("SECRETS_KEYS", production=PRODUCTION)
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS", "")

DATABASE_URL = environment.text("DATABASE_URL", "postgresql:///fairwatt")
BROKER_URL = environment.text("BROKER_URL", "redis://localhost:6379/0")
CACHE_URL = environment.text("CACHE_URL", BROKER_URL)
# No statement, wait for a lock or idle transaction of ours holds others up for longer; 0: for ever.
DATABASE_TIMEOUTS_S = {
    "statement_timeout": environment.number("STATEMENT_TIMEOUT_S", 60.0),
    "lock_timeout": environment.number("LOCK_TIMEOUT_S", 10.0),
    "idle_in_transaction_session_timeout": environment.number("IDLE_TRANSACTION_TIMEOUT_S", 60.0),
}
DATABASES = {
    "default": environment.database(
        DATABASE_URL, environment.text("FAIRWATT_DATABASE_SCOPE", "all"), DATABASE_TIMEOUTS_S
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "unfold",
    "unfold.contrib.filters",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest",
    "tenancy",
    "storage",
    "tariffs",
    "clusters",
    "jobs",
    "webhooks",
    "energy",
    "scheduling",
    "whatif",
    "console",
    "scheduler_service",
]

MIDDLEWARE = [
    "scheduler_service.metrics.MetricsMiddleware",
    "rest.middleware.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "console.middleware.ContentPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "tenancy.middleware.ScopeMiddleware",
]
ROOT_URLCONF = "scheduler_service.urls"
WSGI_APPLICATION = "scheduler_service.wsgi.application"
APPEND_SLASH = False

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "scheduler_service" / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_I18N = False
FORMAT_MODULE_PATH = ["scheduler_service.formats"]
UNFOLD = {
    "SITE_TITLE": "Fairwatt",
    "SITE_HEADER": "Fairwatt",
    "SITE_SYMBOL": "bolt",
    "DASHBOARD_CALLBACK": "scheduler_service.dashboard.dashboard",
    "SIDEBAR": {"navigation": "scheduler_service.navigation.navigation", "show_search": True},
}
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = VAR_DIR / "static"
WHITENOISE_USE_FINDERS = not PRODUCTION

# Production sits behind a proxy that ends TLS and sets X-Forwarded-Proto.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if PRODUCTION else None
SECURE_SSL_REDIRECT = PRODUCTION
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
SECURE_HSTS_SECONDS = int(timedelta(days=365).total_seconds()) if PRODUCTION else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = PRODUCTION
SECURE_HSTS_PRELOAD = PRODUCTION
SESSION_COOKIE_SECURE = PRODUCTION
CSRF_COOKIE_SECURE = PRODUCTION
X_FRAME_OPTIONS = "DENY"

# A bulk submit of 10,000 jobs is about 8 MB; nothing legitimate is larger.
MAX_BODY_BYTES = environment.integer("MAX_BODY_BYTES", 16 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
THROTTLE_PER_MINUTE = environment.integer("THROTTLE_PER_MINUTE", 60_000)
THROTTLE_ANONYMOUS_PER_MINUTE = environment.integer("THROTTLE_ANONYMOUS_PER_MINUTE", 600)
# Wrong join tokens and passwords from one address, and wrong passwords for one name.
WRONG_SECRETS_PER_MINUTE = environment.integer("WRONG_SECRETS_PER_MINUTE", 30)
AUTHENTICATION_BACKENDS = ["tenancy.logins.GuardedPasswords"]
# What a scraper sends as its bearer token; without one only this machine may ask, and in production
# nobody.
METRICS_TOKEN = environment.text("METRICS_TOKEN", "")

# Agents (engines/agents/leases.py says what both leases mean); intervals stretch with many nodes.
SYNC_INTERVAL_S = environment.number("SYNC_INTERVAL_S", 1.0)
SAMPLE_INTERVAL_S = environment.number("SAMPLE_INTERVAL_S", 1.0)
NODE_LEASE_S = environment.number("NODE_LEASE_S", 15.0)
RUN_LEASE_S = environment.number("RUN_LEASE_S", 900.0)
RUN_MARGIN_S = environment.number("RUN_MARGIN_S", 10.0)
# Samples outlive the hours an agent may keep them back; minutes and logs are what people look at.
SAMPLES_KEEP_S = environment.integer("SAMPLES_KEEP_S", 6 * 3600)
MINUTES_KEEP_DAYS = environment.integer("MINUTES_KEEP_DAYS", 90)
LOGS_KEEP_DAYS = environment.integer("LOGS_KEEP_DAYS", 14)
LOG_CAP_BYTES = environment.integer("LOG_CAP_BYTES", 4 * 1024 * 1024)
# Where blobs lie: a directory, or a bucket as in s3://bucket/prefix (storage/backends/).
STORAGE_URL = environment.text("STORAGE_URL", str(VAR_DIR / "storage"))
S3_ENDPOINT = environment.text("S3_ENDPOINT", "")
S3_REGION = environment.text("S3_REGION", "us-east-1")
S3_ACCESS_KEY_ID = environment.text("S3_ACCESS_KEY_ID", "")
S3_SECRET_ACCESS_KEY = environment.text("S3_SECRET_ACCESS_KEY", "")
# The largest archive and artifact, and what an archive may unpack to.
ARCHIVE_MAX_BYTES = environment.integer("ARCHIVE_MAX_BYTES", 512 * 1024 * 1024)
UNPACKED_MAX_BYTES = environment.integer("UNPACKED_MAX_BYTES", 4 * 1024 * 1024 * 1024)
ARTIFACT_MAX_BYTES = environment.integer("ARTIFACT_MAX_BYTES", 8 * 1024 * 1024 * 1024)
# An upload that nobody goes on with, an archive that no job has used, an artifact since its end.
UPLOADS_KEEP_HOURS = environment.integer("UPLOADS_KEEP_HOURS", 24)
ARCHIVES_KEEP_DAYS = environment.integer("ARCHIVES_KEEP_DAYS", 30)
ARTIFACTS_KEEP_DAYS = environment.integer("ARTIFACTS_KEEP_DAYS", 30)
# What an attempt may have of a node beside its GPUs, CPUs and memory; 0: as much as it likes.
PIDS_PER_GPU = environment.integer("PIDS_PER_GPU", 4096)
SCRATCH_MIB_PER_GPU = environment.integer("SCRATCH_MIB_PER_GPU", 0)
# Requests of one node in a minute; the rest is shed, and each kind has a budget of its own.
NODE_SYNCS_PER_MINUTE = environment.integer("NODE_SYNCS_PER_MINUTE", 1200)
NODE_TELEMETRY_PER_MINUTE = environment.integer("NODE_TELEMETRY_PER_MINUTE", 120)
NODE_LOGS_PER_MINUTE = environment.integer("NODE_LOGS_PER_MINUTE", 600)
# The door's process: threads have a database connection each, and so has its pool.
DOOR_SYNC_THREADS = environment.integer("DOOR_SYNC_THREADS", 4)
DOOR_SYNCS_WAITING = environment.integer("DOOR_SYNCS_WAITING", 10_000)
DOOR_UPLOAD_THREADS = environment.integer("DOOR_UPLOAD_THREADS", 3)
DOOR_UPLOADS_WAITING = environment.integer("DOOR_UPLOADS_WAITING", 64)
DOOR_POOL = environment.integer("DOOR_POOL", 4)
# Tenants' streams of events and logs that are followed, of one process.
STREAM_THREADS = environment.integer("STREAM_THREADS", 2)
STREAMS_MAX = environment.integer("STREAMS_MAX", 10_000)
STREAMS_PER_TENANT = environment.integer("STREAMS_PER_TENANT", 1_000)
WEBHOOK_NETWORKS = environment.networks("WEBHOOK_NETWORKS")
NODE_FILES_PER_MINUTE = environment.integer("NODE_FILES_PER_MINUTE", 3000)
# What powers nodes off and on (clusters/services/site_power.py); empty: nobody does.
POWER_COMMAND = shlex.split(environment.text("FAIRWATT_POWER_COMMAND", ""))
# Whether a GPU that ignores its clock is also taken out of scheduling.
CLOCK_FAULTS = environment.text("FAIRWATT_CLOCK_FAULTS", "no") == "yes"

# A site's own policies, beside those of policies/registry.py.
POLICY_MODULES = environment.policies("FAIRWATT_POLICIES")

# How often the newest round of each cluster is compared with its lower bound; 0 is never.
BOUND_INTERVAL_S = environment.number("BOUND_INTERVAL_S", 60.0)

# Of a cluster's GPUs, how many may measure profiles at once (one always may), and for how long.
PROFILING_SHARE = environment.number("PROFILING_SHARE", 0.1)
PROFILING_LONGEST_S = environment.integer("PROFILING_LONGEST_S", 900)

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["tenancy.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["tenancy.permissions.HasRight"],
    "DEFAULT_THROTTLE_CLASSES": ["tenancy.throttles.CallerThrottle"],
    "DEFAULT_PARSER_CLASSES": ["rest.json.JSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest.json.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "rest.pagination.KeysetPagination",
    "DEFAULT_SCHEMA_CLASS": "rest.schema.AutoSchema",
    "EXCEPTION_HANDLER": "rest.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Fairwatt",
    "VERSION": "1",
    "DESCRIPTION": "GPU scheduling as a service: submit jobs, read why they wait, when they start, "
    "what they draw and what they cost. Send `Authorization: Bearer` with a token of yours.",
    "SERVERS": [{"url": "/", "description": "Where this document came from."}],
    "TAGS": TAGS,
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": ["scheduler_service.schema.describe_fields"],
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
}

CELERY_BROKER_URL = BROKER_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Longer than the hard time limit, so that a slow task is never delivered twice.
    "visibility_timeout": 120,
    # A broker that hangs is as good as gone.
    "socket_connect_timeout": 2,
    "socket_timeout": 10,
    "unacked_restore_interval": 1,
    "unacked_restore_throttle": 1,
    # Of the queues that a worker has, the first by name first.
    "queue_order_strategy": "sorted",
}
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_TIME_LIMIT = 90
CELERY_TASK_SOFT_TIME_LIMIT = 60
CELERY_TIMEZONE = "UTC"
# Celery would close the connection after every task; see scheduler_service/celery.py.
CELERY_DB_REUSE_MAX = 10_000
# Workers keep our handlers, or their lines would pass by the formatter that hides secrets.
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Postgres says what is due; a tick that is lost or doubled only shifts it by a second.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "tick": {"task": "jobs.tick", "schedule": 1.0, "options": {"expires": 5}},
    "watch": {"task": "jobs.watch", "schedule": 2.0, "options": {"expires": 5}},
    "power": {"task": "jobs.power", "schedule": 2.0, "options": {"expires": 5}},
    "switches": {"task": "jobs.switches", "schedule": 5.0, "options": {"expires": 5}},
    "digest": {"task": "jobs.digest", "schedule": 1.0, "options": {"expires": 5}},
    "steer": {"task": "jobs.steer", "schedule": 1.0, "options": {"expires": 5}},
    "learn": {"task": "jobs.learn", "schedule": 10.0, "options": {"expires": 9}},
    "sweep": {"task": "jobs.sweep", "schedule": 60.0, "options": {"expires": 50}},
    "forecasts": {"task": "whatif.tick", "schedule": 10.0, "options": {"expires": 9}},
    "simulations": {"task": "whatif.sweep", "schedule": 30.0, "options": {"expires": 25}},
}
if BOUND_INTERVAL_S > 0:
    CELERY_BEAT_SCHEDULE["bounds"] = {
        "task": "jobs.bounds",
        "schedule": BOUND_INTERVAL_S,
        "options": {"expires": BOUND_INTERVAL_S},
    }

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "scheduler_service.logs.formatter"}},
    "filters": {"outages": {"()": "scheduler_service.outages.OutageFilter"}},
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": "line",
            "filters": ["outages"],
        }
    },
    "root": {"handlers": ["stderr"], "level": environment.text("LOG_LEVEL", "INFO")},
    "loggers": {
        # The problem handler has already logged what a client error or a crash was.
        "django.request": {"level": "CRITICAL"},
        # Scanners send any Host; each would be a traceback.
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        # Three lines a second from the tick alone.
        "celery.beat": {"level": "WARNING"},
        "celery.app.trace": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
    },
}
