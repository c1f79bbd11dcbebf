"""Row-level security, the login function, and the audit that is append-only and sealed."""

from django.db import migrations

from tenancy.rls import SCOPE_TENANT, SEES_ALL, policy, tenant_rls

# The look-up must see the token table before any scope is known. Inside this function the scope
# is `all` just long enough to read the one row whose 256-bit hash the caller already has; the
# function leaves the scope of that token behind, or `none`. An error undoes both settings.
LOGIN = """
CREATE FUNCTION fairwatt_login(secret_hash bytea)
RETURNS TABLE (
  token_id bigint, token_role text, token_tenant bigint, tenant_name text, suspended boolean,
  token_user bigint, token_name text, token_expires_at timestamptz
) LANGUAGE plpgsql AS $$
DECLARE
  used_at timestamptz;
  next_scope text := 'none';
BEGIN
  PERFORM set_config('fairwatt.scope', 'all', false);
  SELECT t.id, t.role, t.tenant_id, o.name, o.suspended, t.user_id, t.name, t.expires_at,
         t.last_used_at
    INTO token_id, token_role, token_tenant, tenant_name, suspended, token_user, token_name,
         token_expires_at, used_at
    FROM tenancy_apitoken t LEFT JOIN tenancy_tenant o ON o.id = t.tenant_id
   WHERE t.hash = secret_hash AND t.revoked_at IS NULL
     AND (t.expires_at IS NULL OR t.expires_at > clock_timestamp());
  IF FOUND THEN
    IF used_at IS NULL OR used_at < clock_timestamp() - interval '1 minute' THEN
      UPDATE tenancy_apitoken SET last_used_at = clock_timestamp()
       WHERE id = (SELECT id FROM tenancy_apitoken WHERE id = token_id FOR UPDATE SKIP LOCKED);
    END IF;
    next_scope := CASE WHEN token_tenant IS NOT NULL THEN token_tenant::text
                       WHEN token_role = 'operator' THEN 'all' ELSE 'none' END;
    RETURN NEXT;
  END IF;
  PERFORM set_config('fairwatt.scope', next_scope, false);
END $$
"""

APPEND_ONLY = """
CREATE FUNCTION fairwatt_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$
"""
AUDIT_TRIGGER = """
CREATE TRIGGER tenancy_auditrow_append_only BEFORE UPDATE OR DELETE OR TRUNCATE
ON tenancy_auditrow FOR EACH STATEMENT EXECUTE FUNCTION fairwatt_append_only()
"""
SEAL_TRIGGER = """
CREATE TRIGGER tenancy_auditseal_append_only BEFORE UPDATE OR DELETE OR TRUNCATE
ON tenancy_auditseal FOR EACH STATEMENT EXECUTE FUNCTION fairwatt_append_only()
"""
# Of two that follow the same seal at once, the unique constraints refuse the second.
SEAL_FOLLOWS = """
CREATE FUNCTION tenancy_auditseal_follows() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  newest record;
BEGIN
  SELECT last_id, digest INTO newest FROM tenancy_auditseal ORDER BY last_id DESC LIMIT 1;
  IF NEW.first_id <> coalesce(newest.last_id, 0) + 1
     OR NEW.previous_digest <> coalesce(newest.digest, repeat('0', 64)) THEN
    RAISE EXCEPTION 'a seal begins where the last one ended'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'audit_seal_follows';
  END IF;
  RETURN NEW;
END $$
"""
SEAL_FOLLOWS_TRIGGER = """
CREATE TRIGGER tenancy_auditseal_follows BEFORE INSERT
ON tenancy_auditseal FOR EACH ROW EXECUTE FUNCTION tenancy_auditseal_follows()
"""


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0001_initial")]

    operations = [
        *tenant_rls("tenancy_tenant", "id"),
        *tenant_rls("tenancy_membership"),
        *tenant_rls("tenancy_apitoken"),
        *tenant_rls("tenancy_secret"),
        migrations.RunSQL(
            "ALTER TABLE tenancy_auditrow ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
            "ALTER TABLE tenancy_auditrow NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY",
        ),
        policy(
            "tenancy_auditrow", "read", f"FOR SELECT USING ({SEES_ALL} OR tenant_id = {SCOPE_TENANT})"
        ),
        policy(
            "tenancy_auditrow",
            "append",
            f"FOR INSERT WITH CHECK ({SEES_ALL} OR tenant_id IS NULL OR tenant_id = {SCOPE_TENANT})",
        ),
        migrations.RunSQL(LOGIN, "DROP FUNCTION fairwatt_login(bytea)"),
        migrations.RunSQL(APPEND_ONLY, "DROP FUNCTION fairwatt_append_only()"),
        migrations.RunSQL(
            AUDIT_TRIGGER, "DROP TRIGGER tenancy_auditrow_append_only ON tenancy_auditrow"
        ),
        migrations.RunSQL(
            SEAL_TRIGGER, "DROP TRIGGER tenancy_auditseal_append_only ON tenancy_auditseal"
        ),
        migrations.RunSQL(SEAL_FOLLOWS, "DROP FUNCTION tenancy_auditseal_follows()"),
        migrations.RunSQL(
            SEAL_FOLLOWS_TRIGGER, "DROP TRIGGER tenancy_auditseal_follows ON tenancy_auditseal"
        ),
    ]
