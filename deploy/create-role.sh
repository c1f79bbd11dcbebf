#!/bin/sh
# Run once by the postgres image. The image's own user is a superuser, which row-level security
# does not bind: the service gets a role of its own.
set -eu
psql --set=ON_ERROR_STOP=1 --set=password="$FAIRWATT_ROLE_PASSWORD" --username "$POSTGRES_USER" <<'SQL'
CREATE ROLE fairwatt LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'password';
CREATE DATABASE fairwatt OWNER fairwatt;
SQL
