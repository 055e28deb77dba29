import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectSqlite } from '../../../src/platform/store/engine/dialect.ts';
import { migrate } from '../../../src/platform/store/schema/migrate.ts';
import { temporaryFolder } from './service.ts';

/** Tables with a row for each run, or for each event of a run. */
const growing = ['runs', 'results', 'stale_results', 'artifacts', 'result_columns', 'slot_days', 'alerts'];
/** A scan of the primary key finds nothing by itself; it only sets the order of a full scan. */
const wholeTable = new RegExp(`^SCAN (${growing.join('|')})( USING INDEX sqlite_autoindex_.*)?$`);

/** Statements of tests only. */
const ofTests = /from "stale_results" where "run_id" = /;

/**
 * Adds a test that must be last: no statement of the previous tests scanned a whole growing table. On the embedded
 * database every statement blocks all others.
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
        // A statement of a migration: its table no longer exists.
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
