import type { AgentSettings } from '../config.ts';
import type { ServiceContact } from './service-contact.ts';

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

/** What examinations work with, and what earlier ones found out for later ones. */
export interface ExaminedAgent {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The agent's settings; where a variable is wrong, what holds without it. */
  readonly settings: AgentSettings;
  /** Lines that begin with the variable and a colon. */
  readonly configurationProblems: readonly string[];
  /** Whether a service is named that can be examined, and a key. */
  readonly hasService: boolean;
  readonly hasKey: boolean;
  /** Ends everything that is under way. */
  readonly signal: AbortSignal;
  /** Disposed of once all is over. */
  readonly resources: AsyncDisposableStack;
  /** The one conversation with the service; made at the first call. */
  readonly contact: () => Promise<ServiceContact>;
  /** What was found so far. */
  readonly findings: readonly Finding[];
  /** Authorities of CA_CERTS_DIR as PEM texts; known after its examination. */
  caCertificates: readonly string[];
}

/** An examination of one thing. */
export interface Examination {
  /** Stable, for programs. */
  readonly name: string;
  /**
   * Examinations without whose success this one would only repeat their findings; with what of them it is
   * about, behind a space, if only that matters (`disk SPOOL_DIR`).
   */
  readonly needs?: readonly string[];
  /** Never throws for what it looks at: that is a verdict. */
  examine(patient: ExaminedAgent): Promise<Verdict | readonly Verdict[]>;
}
