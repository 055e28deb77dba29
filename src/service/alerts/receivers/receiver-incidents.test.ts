import { connectSqlite } from '@picket/platform/store/engine/dialect.ts';
import { receiverIncidents } from '@picket/platform/store/schema/alert-migration.ts';
import { migrate } from '@picket/platform/store/schema/migrate.ts';
import { migrations } from '@picket/platform/store/schema/migrations.ts';
import type { Tables } from '@picket/platform/store/tables.ts';
import { type Kysely, sql } from 'kysely';
import { expect, it } from 'vitest';
import { resourceMigrations } from '../../resources/index.ts';

const all = [...migrations, ...resourceMigrations];

async function notified(
  db: Kysely<Tables>,
  id: string,
  { notice = 'failure', checkId = 'shop', channelId = 1, facts = {} },
): Promise<void> {
  const type = channelId === 1 ? 'PAGERDUTY' : 'SLACK';
  await sql`insert into alerts (id, account_id, check_id, alert_type, notice, facts, created)
    values (${id}, 'acme', ${checkId}, 'ALERT', ${notice}, ${JSON.stringify(facts)}, 1)`.execute(db);
  await sql`insert into alert_notifications
      (id, account_id, alert_id, check_id, channel_id, channel_type, config, status, tries, next_at, created)
    values (${id}, 'acme', ${id}, ${checkId}, ${channelId}, ${type}, '{}', 'SUCCESS', 1, 1, 1)`.execute(db);
}

it('knows after an upgrade the open failures that receivers of incidents were notified of', async () => {
  const { db, dialect } = connectSqlite(':memory:', () => undefined);
  try {
    const earlier = all.filter(({ name }) => name < receiverIncidents.name);
    await migrate(db, dialect, earlier);
    await sql`insert into accounts (id, name, created) values ('acme', 'Acme', 1)`.execute(db);
    for (const type of ['PAGERDUTY', 'SLACK']) {
      await sql`insert into alert_channels (account_id, type, definition, created)
        values ('acme', ${type}, '{}', 1)`.execute(db);
    }
    await notified(db, 'shop-1', {});
    await notified(db, 'shop-2', { notice: 'recovery' });
    await notified(db, 'shop-3', {});
    await notified(db, 'shop-4', { notice: 'ssl' });
    await notified(db, 'blog-1', { checkId: 'blog' });
    await notified(db, 'blog-2', { checkId: 'blog', notice: 'recovery' });
    await notified(db, 'gap', { notice: 'gap', facts: { subject: 'gap', runLocation: 'lab' } });
    await notified(db, 'test', { checkId: 'test', facts: { subject: 'test' } });
    await notified(db, 'message', { checkId: 'news', channelId: 2 });
    await notified(db, 'gone', { checkId: 'gone', channelId: 1 });
    await migrate(db, dialect, all);
    const rows = await db
      .selectFrom('receiver_incidents')
      .select(['incident_key', 'alert_id', 'channel_id'])
      .orderBy('alert_id')
      .execute();
    expect(rows).toEqual([
      { incident_key: 'picket-gap-lab-shop', alert_id: 'gap', channel_id: 1 },
      { incident_key: 'picket-check-gone', alert_id: 'gone', channel_id: 1 },
      { incident_key: 'picket-check-shop', alert_id: 'shop-3', channel_id: 1 },
      { incident_key: 'picket-certificate-shop', alert_id: 'shop-4', channel_id: 1 },
    ]);
  } finally {
    await db.destroy();
  }
});
