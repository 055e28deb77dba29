import type { ApiClient } from './client.ts';

/** Output of a command: JSON for programs, and lines of a given width for people. */
export interface Shown {
  readonly json: unknown;
  readonly lines: (width: number) => readonly string[];
  /** 0 when absent. */
  readonly exitCode?: number;
}

export type Run = (
  api: ApiClient,
  given: readonly string[],
  options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>,
) => Promise<Shown>;

/** A command that calls a service. */
export interface ApiCommand {
  /** Heading of the command in the help. */
  readonly group: 'Checks:' | 'Alerts:' | 'Pages and locations:';
  /** Usage with arguments, those in brackets optional: `silence end <id>`, `open [check]`. */
  readonly usage: string;
  readonly description: string;
  /** `--comment <text>` with its meaning. */
  readonly options?: readonly (readonly [flags: string, meaning: string])[];
  readonly load: () => Promise<Run>;
}
