"""What Django's models cannot say: composite keys, row-level security, and the outbox's filling."""

from django.db import migrations

from rest.promises import composite_key
from tenancy.rls import tenant_rls

# In the transaction of the event, whoever wrote it: neither is there without the other. A tenant
# without webhooks pays for one look into a small index, however many jobs move at once.
ENQUEUE = """
CREATE FUNCTION webhooks_enqueue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO webhooks_webhookdelivery (tenant_id, webhook_id, event_id, event)
  SELECT told.tenant_id, hook.id, told.id, 'job.' || told.to_state
  FROM told JOIN webhooks_webhook hook ON hook.tenant_id = told.tenant_id
  WHERE hook.enabled AND (hook.events = '{}' OR 'job.' || told.to_state = ANY(hook.events))
  ORDER BY told.id;
  IF FOUND THEN
    PERFORM pg_notify('fairwatt_webhooks', '');
  END IF;
  RETURN NULL;
END $$
"""
ON_EVENT = """
CREATE TRIGGER webhooks_jobevent_enqueues AFTER INSERT ON jobs_jobevent
REFERENCING NEW TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION webhooks_enqueue()
"""


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0001_tables"), ("jobs", "0002_promises")]

    operations = [
        composite_key(
            "webhooks_webhookdelivery", "webhook", "webhooks_webhook", on_delete="CASCADE"
        ),
        *tenant_rls("webhooks_webhook"),
        *tenant_rls("webhooks_webhookdelivery"),
        migrations.RunSQL(ENQUEUE, "DROP FUNCTION webhooks_enqueue"),
        migrations.RunSQL(ON_EVENT, "DROP TRIGGER webhooks_jobevent_enqueues ON jobs_jobevent"),
    ]
