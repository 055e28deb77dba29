import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodeOf, toError } from '@picket/lib/errors.ts';
import type { Logger } from '@picket/lib/log.ts';
import type { Statement } from '@picket/protocol/signing/signed-run.ts';
import { z } from 'zod';

const StoredVersions = z.record(z.string().max(600), z.int().min(1));
/** Far more checks than an account has; only signed names count, so a service cannot fill it. */
const maxChecks = 20_000;

/**
 * The highest version of each signed check that agents of this location ran, so that a service cannot bring back an
 * older one. Kept in a file next to the spool: agents that share SPOOL_DIR share it, and a restart does not forget.
 * Without a usable folder it is in memory only.
 */
export class KnownVersions {
  readonly #path: string;
  readonly #log: Logger;
  readonly #versions = new Map<string, number>();
  #problem: string | undefined;

  /** @param tag of the location, as spool folders have it. */
  constructor(directory: string, tag: string, log: Logger) {
    this.#path = join(directory, `picket-signed.${tag}.json`);
    this.#log = log;
    this.#read();
  }

  /** Why the versions are in memory only. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Returns the highest version seen if it is higher than that of the statement; remembers that of the statement otherwise. */
  newerThan({ subject, serial }: Pick<Statement, 'subject' | 'serial'>): number | undefined {
    const seen = this.#versions.get(subject) ?? 0;
    if (serial === seen) return undefined;
    // Another agent of the folder may know more.
    this.#read();
    const known = this.#versions.get(subject) ?? 0;
    if (serial < known) return known;
    if (serial === known) return undefined;
    this.#versions.delete(subject);
    this.#versions.set(subject, serial);
    const [oldest] = this.#versions.keys();
    if (oldest !== undefined && this.#versions.size > maxChecks) this.#versions.delete(oldest);
    this.#write();
    return undefined;
  }

  #read(): void {
    try {
      const stored = StoredVersions.parse(JSON.parse(readFileSync(this.#path, 'utf8')));
      for (const [subject, serial] of Object.entries(stored)) {
        if (serial > (this.#versions.get(subject) ?? 0)) this.#versions.set(subject, serial);
      }
    } catch (thrown) {
      if (errorCodeOf(thrown) !== 'ENOENT') this.#failed(thrown);
    }
  }

  #write(): void {
    const draft = `${this.#path}.${process.pid}`;
    try {
      writeFileSync(draft, JSON.stringify(Object.fromEntries(this.#versions)), { mode: 0o600 });
      renameSync(draft, this.#path);
      this.#problem = undefined;
    } catch (thrown) {
      this.#failed(thrown);
    }
  }

  #failed(thrown: unknown): void {
    const reason = toError(thrown).message;
    if (this.#problem === undefined) {
      this.#log.warn({ reason, file: this.#path }, 'versions of signed checks are kept in memory only');
    }
    this.#problem = reason;
  }
}
