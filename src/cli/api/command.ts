import type { ApiClient } from './client.ts';

/** What a command has to say: for programs, and for people in lines of a width. */
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

/** A command that asks a service. */
export interface ApiCommand {
  /** With its arguments, as they are typed: `silence end <id>`. */
  readonly usage: string;
  readonly description: string;
  /** `--comment <text>` with what it means. */
  readonly options?: readonly (readonly [flags: string, meaning: string])[];
  readonly load: () => Promise<Run>;
}
