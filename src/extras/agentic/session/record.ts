import type { AgenticDetail } from '@picket/checks/agentic/detail.ts';

const maxSteps = 400;
const maxTextLength = 4000;

type Step = AgenticDetail['steps'][number];
type Suggestion = AgenticDetail['suggestions'][number];

/** Collects facts about a run for its result. Everything passed to it must be free of values of variables. */
export class SessionRecord {
  readonly assertions: AgenticDetail['assertions'][number][] = [];
  readonly errors: string[] = [];
  readonly suggestions: Suggestion[] = [];
  readonly screenshots: string[] = [];
  readonly #steps: Step[] = [];
  readonly #refused = new Set<string>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get steps(): readonly Step[] {
    return this.#steps;
  }

  /** Blocked origins that the page tried to contact. */
  get refused(): readonly string[] {
    return [...this.#refused];
  }

  call(name: string, input: Readonly<Record<string, unknown>>): void {
    this.#add({ type: 'tool_call', name, input: { ...input }, output: null });
  }

  result(name: string, output: string): void {
    this.#add({ type: 'tool_result', name, input: null, output: output.slice(0, maxTextLength) });
  }

  message(text: string): void {
    if (text.trim() !== '')
      this.#add({ type: 'message', name: null, input: null, output: text.slice(0, maxTextLength) });
  }

  refuse(origins: readonly string[]): void {
    for (const origin of origins) if (this.#refused.size < 20) this.#refused.add(origin);
  }

  #add(step: Omit<Step, 'timestamp' | 'sequenceNumber'>): void {
    if (this.#steps.length >= maxSteps) return;
    const timestamp = new Date(this.#now()).toISOString();
    this.#steps.push({ ...step, timestamp, sequenceNumber: this.#steps.length });
  }
}
