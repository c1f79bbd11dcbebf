"""Django settings; every knob is an environment variable listed in docs/settings.md."""

import shlex
from datetime import timedelta
from pathlib import Path

from scheduler_service import environment

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(environment.text("FAIRWATT_VAR", str(BASE_DIR / "var")))
DATA_DIR = Path(environment.text("FAIRWATT_DATA", str(BASE_DIR.parent / "shared" / "data")))

PRODUCTION = environment.text("FAIRWATT_ENV", "development") == "production"
DEBUG = False
SECRET_KEY = environment.secret("SECRET_KEY", production=PRODUCTION)
ALLOWED_HOSTS = environment.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = environment.words("CSRF_TRUSTED_ORIGINS", "")

DATABASE_URL = environment.text("DATABASE_URL", "postgresql:///fairwatt")
BROKER_URL = environment.text("BROKER_URL", "redis://localhost:6379/0")
CACHE_URL = environment.text("CACHE_URL", BROKER_URL)
DATABASES = {
    "default": environment.database(
        DATABASE_URL, environment.text("FAIRWATT_DATABASE_SCOPE", "all")
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
    "tariffs",
    "clusters",
    "jobs",
    "energy",
    "scheduling",
    "whatif",
    "scheduler_service",
]

MIDDLEWARE = [
    "scheduler_service.metrics.MetricsMiddleware",
    "rest.middleware.RequestMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
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
UNFOLD = {"SITE_TITLE": "Fairwatt", "SITE_HEADER": "Fairwatt", "SITE_SYMBOL": "bolt"}
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

# Agents (engines/agents/leases.py says what both leases mean); intervals stretch with many nodes.
SYNC_INTERVAL_S = environment.number("SYNC_INTERVAL_S", 1.0)
SAMPLE_INTERVAL_S = environment.number("SAMPLE_INTERVAL_S", 1.0)
NODE_LEASE_S = environment.number("NODE_LEASE_S", 15.0)
RUN_LEASE_S = environment.number("RUN_LEASE_S", 120.0)
RUN_MARGIN_S = environment.number("RUN_MARGIN_S", 10.0)
# Samples outlive the hours an agent may keep them back; minutes and logs are what people look at.
SAMPLES_KEEP_S = environment.integer("SAMPLES_KEEP_S", 6 * 3600)
MINUTES_KEEP_DAYS = environment.integer("MINUTES_KEEP_DAYS", 90)
LOGS_KEEP_DAYS = environment.integer("LOGS_KEEP_DAYS", 14)
LOG_CAP_BYTES = environment.integer("LOG_CAP_BYTES", 4 * 1024 * 1024)
# Requests of one node in a minute; the rest is shed, and each kind has a budget of its own.
NODE_SYNCS_PER_MINUTE = environment.integer("NODE_SYNCS_PER_MINUTE", 1200)
NODE_TELEMETRY_PER_MINUTE = environment.integer("NODE_TELEMETRY_PER_MINUTE", 120)
NODE_LOGS_PER_MINUTE = environment.integer("NODE_LOGS_PER_MINUTE", 600)
# What powers nodes off and on (clusters/services/site_power.py); empty: nobody does.
POWER_COMMAND = shlex.split(environment.text("FAIRWATT_POWER_COMMAND", ""))
# Whether a GPU that ignores its clock is also taken out of scheduling.
CLOCK_FAULTS = environment.text("FAIRWATT_CLOCK_FAULTS", "no") == "yes"

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
    "DESCRIPTION": "GPU scheduling as a service.",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": [],
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
# Workers keep our handlers, or their lines would pass by the formatter that hides secrets.
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
# Postgres says what is due; a tick that is lost or doubled only shifts it by a second.
CELERY_BEAT_SCHEDULE = {
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
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
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
