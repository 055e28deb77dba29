import type { AgentSettings } from '../config.ts';
import type { ServiceContact } from './service-contact.ts';

/**
 * Status of one finding. `problem`: the agent does not work with it, or not fully. `warning`: it works, but the
 * operator should know. `skipped`: not examined, or not needed here.
 */
export type FindingStatus = 'ok' | 'warning' | 'problem' | 'skipped';

/** Result of an examination for one item. */
export interface Verdict {
  readonly status: FindingStatus;
  /** The item: a variable, a file, a check type; absent if the verdict is about the whole. */
  readonly about?: string | undefined;
  readonly detail: string;
  /** Suggested fix; present with every problem and warning. */
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

/** Input of examinations, and results that earlier ones pass to later ones. */
export interface ExaminedAgent {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The agent's settings; a wrong variable has its default here. */
  readonly settings: AgentSettings;
  /** Each line starts with the variable and a colon. */
  readonly configurationProblems: readonly string[];
  /** Whether a service is configured that can be examined, and a key. */
  readonly hasService: boolean;
  readonly hasKey: boolean;
  /** Aborts all work in progress. */
  readonly signal: AbortSignal;
  /** Disposed after the last examination. */
  readonly resources: AsyncDisposableStack;
  /** The shared connection to the service, created on the first call. */
  readonly contact: () => Promise<ServiceContact>;
  /** Findings so far. */
  readonly findings: readonly Finding[];
  /** Authorities of CA_CERTS_DIR as PEM texts; known after its examination. */
  caCertificates: readonly string[];
}

/** An examination of one part. */
export interface Examination {
  /** Stable, for programs. */
  readonly name: string;
  /**
   * Prerequisites: if one failed, this examination would only repeat its finding. A name may be followed by a space and
   * the item that matters (`disk SPOOL_DIR`).
   */
  readonly needs?: readonly string[];
  /** Never throws because of its findings: those are verdicts. */
  examine(patient: ExaminedAgent): Promise<Verdict | readonly Verdict[]>;
}
