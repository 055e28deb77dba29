import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectSqlite } from '../../../src/platform/store/engine/dialect.ts';
import { migrate } from '../../../src/platform/store/schema/migrate.ts';
import { temporaryFolder } from './service.ts';

/** Tables with a row for each run, or for each thing that happened to one. */
const growing = ['runs', 'results', 'stale_results', 'artifacts', 'result_columns', 'slot_days', 'alerts'];
/** The primary key alone finds nothing, it only says the order in which everything is read. */
const wholeTable = new RegExp(`^SCAN (${growing.join('|')})( USING INDEX sqlite_autoindex_.*)?$`);

/** What only tests ask for. */
const ofTests = /from "stale_results" where "run_id" = /;

/**
 * Adds a test, to be the last: no statement of the tests before read all of a table that grows. On the embedded database everybody
 * waits for a statement.
 */
export function expectNoFullScans(): void {
  const prepare = DatabaseSync.prototype.prepare;
  const statements = new Set<string>();
  beforeAll(() => {
    DatabaseSync.prototype.prepare = function (text: string, ...rest) {
      statements.add(text);
      return prepare.call(this, text, ...rest);
    };
  });
  afterAll(() => {
    DatabaseSync.prototype.prepare = prepare;
  });

  it('reads no table that grows from its beginning to its end', async () => {
    const folder = temporaryFolder();
    const path = `${folder.path}/picket.sqlite`;
    const { db, dialect } = connectSqlite(path, () => undefined);
    await migrate(db, dialect);
    await db.destroy();
    const database = new DatabaseSync(path);
    const planOf = (text: string): string[] => {
      try {
        return prepare
          .call(database, `explain query plan ${text}`)
          .all()
          .map(({ detail }) => String(detail));
      } catch (error) {
        // A statement of a migration: what it worked on is gone since.
        if (/no such (table|column)/.test(String(error))) return [];
        throw error;
      }
    };
    try {
      const asked = [...statements].filter(
        (text) => /^\s*(select|update|delete|insert|with)\b/i.test(text) && !ofTests.test(text),
      );
      expect(asked.length).toBeGreaterThan(100);
      const found = asked.flatMap((text) => {
        const scans = planOf(text).filter((detail) => wholeTable.test(detail));
        return scans.length > 0 ? [`${scans.join(', ')}: ${text}`] : [];
      });
      expect(found).toEqual([]);
    } finally {
      database.close();
      folder.remove();
    }
  });
}
