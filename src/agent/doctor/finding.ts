/**
 * How it stands with one thing. `problem`: something the agent does not work with, or not wholly. `warning`:
 * it works, but the operator should know. `skipped`: not examined, or not needed here.
 */
export type FindingStatus = 'ok' | 'warning' | 'problem' | 'skipped';

/** What an examination found out about one thing. */
export interface Verdict {
  readonly status: FindingStatus;
  /** What of the examined: a variable, a file, a check type; absent where it is the whole. */
  readonly about?: string | undefined;
  readonly detail: string;
  /** What to do; with every problem and warning. */
  readonly fix?: string | undefined;
}

export interface Finding extends Verdict {
  /** Name of the examination; stable, for programs. */
  readonly examination: string;
}

export const ok = (detail: string, about?: string): Verdict => ({ status: 'ok', detail, about });
export const skipped = (detail: string, about?: string): Verdict => ({ status: 'skipped', detail, about });
export const problem = (detail: string, fix: string, about?: string): Verdict => ({
  status: 'problem',
  detail,
  fix,
  about,
});
export const warning = (detail: string, fix: string, about?: string): Verdict => ({
  status: 'warning',
  detail,
  fix,
  about,
});
