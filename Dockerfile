# One image for the API, the worker, beat and the migrations; the command makes the difference.
FROM python:3.11-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 FAIRWATT_VAR=/var/lib/fairwatt \
    NUMBA_CACHE_DIR=/var/lib/fairwatt/compiled
WORKDIR /srv/fairwatt

COPY requirements.txt ./
RUN pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt

RUN useradd --system --uid 10001 --no-create-home fairwatt \
    && install --directory --owner=fairwatt --group=fairwatt "$FAIRWATT_VAR" "$FAIRWATT_VAR/storage"
COPY . .
USER fairwatt
# Development settings, because the real secret is no business of an image.
RUN FAIRWATT_ENV=development python manage.py collectstatic --noinput --verbosity 0

EXPOSE 8000
CMD ["granian", "--interface", "rsgi", "scheduler_service.api:application", \
     "--host", "0.0.0.0", "--port", "8000", "--no-ws", \
     "--workers", "2", "--http1-header-read-timeout", "30000", "--respawn-failed-workers", \
     "--backlog", "4096", "--backpressure", "16384"]
