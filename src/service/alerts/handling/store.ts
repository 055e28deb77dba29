import { randomBytes, randomUUID } from 'node:crypto';
import { type Page, readPage } from '@picket/platform/store/engine/queries.ts';
import { Repository } from '@picket/platform/store/engine/repository.ts';
import { storedValue } from '@picket/platform/store/stored-json.ts';
import type { AlertActionRow, SilenceRow } from '../tables.ts';
import type { Actor } from './actor.ts';
import { unknownActor } from './actor.ts';
import type { Silence } from './silence.ts';

const tagsOf = storedValue<readonly string[]>('silences.tags', []);
const authorOf = storedValue<Actor>('silences.created_by', unknownActor);

/** A silence, with its author and creation time. */
export interface StoredSilence extends Silence {
  readonly comment: string | null;
  readonly createdBy: Actor;
  readonly created: number;
}

/** Silences, including those that are over. */
export class Silences extends Repository {
  async insert(silence: StoredSilence): Promise<void> {
    await this.db
      .insertInto('silences')
      .values({
        id: silence.id,
        account_id: silence.accountId,
        check_id: silence.checkId,
        tags: silence.tags && JSON.stringify(silence.tags),
        location: silence.location,
        comment: silence.comment,
        created_by: JSON.stringify(silence.createdBy),
        created: silence.created,
        ends: silence.endsAt,
      })
      .execute();
  }

  /** Silences of the given accounts that are active at an instant. */
  async active(accountIds: readonly string[], at: number): Promise<StoredSilence[]> {
    if (accountIds.length === 0) return [];
    const rows = await this.db
      .selectFrom('silences')
      .selectAll()
      .where(this.dialect.inList('account_id', [...new Set(accountIds)]))
      .where('ends', '>', at)
      .execute();
    return rows.map(fromRow);
  }

  /** Ends an active silence; returns whether there was one. */
  async end(accountId: string, id: string, now: number): Promise<boolean> {
    const done = await this.db
      .updateTable('silences')
      .set({ ends: now })
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .where('ends', '>', now)
      .executeTakeFirst();
    return done.numUpdatedRows > 0n;
  }

  async find(accountId: string, id: string): Promise<StoredSilence | undefined> {
    const row = await this.db
      .selectFrom('silences')
      .selectAll()
      .where('account_id', '=', accountId)
      .where('id', '=', id)
      .executeTakeFirst();
    return row && fromRow(row);
  }

  /** A page of silences, newest first. */
  async list(
    filter: { readonly accountId: string; readonly isActive: boolean | undefined; readonly now: number },
    page: Page,
  ): Promise<{ total: number; silences: StoredSilence[] }> {
    let query = this.db.selectFrom('silences').where('account_id', '=', filter.accountId);
    if (filter.isActive !== undefined) query = query.where('ends', filter.isActive ? '>' : '<=', filter.now);
    const ordered = query.selectAll().orderBy('created', 'desc').orderBy('id', 'desc');
    const { total, rows } = await readPage(ordered, page);
    return { total, silences: rows.map(fromRow) };
  }
}

/** Actions of users on alerts. */
export class AlertActions extends Repository {
  async insert(row: Omit<AlertActionRow, 'id'>): Promise<void> {
    await this.db
      .insertInto('alert_actions')
      .values({ ...row, id: randomUUID() })
      .execute();
  }

  /** A page of an account's actions, newest first. */
  async list(accountId: string, page: Page): Promise<{ total: number; actions: AlertActionRow[] }> {
    const query = this.db
      .selectFrom('alert_actions')
      .where('account_id', '=', accountId)
      .selectAll()
      .orderBy('created', 'desc')
      .orderBy('id', 'desc');
    const { total, rows: actions } = await readPage(query, page);
    return { total, actions };
  }
}

/** Signing keys of links that open without an API key: one per account, created on first use. */
export class AlertLinkKeys extends Repository {
  async of(accountId: string): Promise<string> {
    const known = await this.find(accountId);
    if (known !== undefined) return known;
    await this.db
      .insertInto('alert_link_keys')
      .values({ account_id: accountId, signing_key: randomBytes(32).toString('base64url') })
      .onConflict((conflict) => conflict.column('account_id').doNothing())
      .execute();
    const made = await this.find(accountId);
    if (made === undefined) throw new Error('the key of an account that was just made is not there');
    return made;
  }

  /** Key of an account, if it has one. */
  async find(accountId: string): Promise<string | undefined> {
    const row = await this.db
      .selectFrom('alert_link_keys')
      .select('signing_key')
      .where('account_id', '=', accountId)
      .executeTakeFirst();
    return row?.signing_key;
  }
}

function fromRow(row: SilenceRow): StoredSilence {
  return {
    id: row.id,
    accountId: row.account_id,
    checkId: row.check_id,
    tags: row.tags === null ? null : [...tagsOf(row.tags)],
    location: row.location,
    endsAt: row.ends,
    comment: row.comment,
    createdBy: authorOf(row.created_by),
    created: row.created,
  };
}
