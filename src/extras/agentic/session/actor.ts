import { setTimeout as delay } from 'node:timers/promises';
import {
  type AssertStep,
  type PlanStep,
  type Target,
  targetedSubjects,
} from '@picket/checks/agentic/plan/step.ts';
import type { ArtifactSink } from '@picket/checks/contract/run-context.ts';
import type { PageAnswer, PageFindings, PageSession } from '@picket/sandbox/pages/page-session.ts';
import { holds, selected } from './judging.ts';
import type { Placeholders } from './placeholders.ts';
import type { SessionRecord } from './record.ts';

/** Timeout of an assertion, and the interval between its attempts. */
const assertMs = 5000;
const lookMs = 150;
const maxScreenshots = 20;

/**
 * Result of a step. `verified` says whether an assertion holds; `misfit`, `refused` and `broken` come from the page;
 * `ended`: no further step is possible.
 */
export type StepEnd =
  | { readonly kind: 'done'; readonly text: string }
  | { readonly kind: 'verified'; readonly passed: boolean; readonly actual: string | null }
  | { readonly kind: 'misfit' | 'refused' | 'broken' | 'ended'; readonly text: string };

/** Answers a question about the page in words. */
export type Judge = (question: string) => Promise<{ readonly holds: boolean; readonly because: string }>;

/** Executes steps on the page of a run. Values of variables enter here and nowhere else, and no output contains one. */
export class Actor {
  readonly record: SessionRecord;
  readonly #session: PageSession;
  readonly #placeholders: Placeholders;
  readonly #judge: Judge;
  readonly #artifacts: ArtifactSink | undefined;
  #status: number | null = null;

  constructor(parts: {
    readonly session: PageSession;
    readonly placeholders: Placeholders;
    readonly record: SessionRecord;
    readonly judge: Judge;
    readonly artifacts: ArtifactSink | undefined;
  }) {
    this.record = parts.record;
    this.#session = parts.session;
    this.#placeholders = parts.placeholders;
    this.#judge = parts.judge;
    this.#artifacts = parts.artifacts;
  }

  /** HTTP status of the last page load. */
  get status(): number | null {
    return this.#status;
  }

  async do(step: PlanStep): Promise<StepEnd> {
    this.record.call(step.tool, step.input);
    const end = await this.#end(step);
    this.record.result(step.tool, end.kind === 'verified' ? verdictWords(end) : end.text);
    return end;
  }

  /** The page as the model may see it. */
  async snapshot(): Promise<string> {
    return this.#words(await this.#session.step('snapshot', {}));
  }

  async read(target: Target): Promise<string> {
    return this.#words(await this.#session.step('read', { target: this.#placeholders.fillAll(target) }));
  }

  /** Saves a screenshot of the page; a failure to save it has no other effect. */
  async picture(name: string): Promise<boolean> {
    if (!this.#artifacts || this.record.screenshots.length >= maxScreenshots) return false;
    const file = `picture-${this.record.screenshots.length}.png`;
    const answer = await this.#session.step('screenshot', { file });
    if (answer.kind !== 'done') return false;
    const path = `screenshots/${name}.png`;
    if (this.record.screenshots.includes(path)) return false;
    const content = await this.#session.read(file);
    const isKept = await this.#artifacts.add({ name: path, contentType: 'image/png', content });
    if (isKept) this.record.screenshots.push(path);
    return isKept;
  }

  async #end(step: PlanStep): Promise<StepEnd> {
    if (step.tool === 'assert') return await this.#assert(step.input);
    if (step.tool === 'judge') return await this.#judged(step.input.question);
    if (step.tool === 'screenshot') {
      const isKept = await this.picture(step.input.name);
      return {
        kind: 'done',
        text: isKept ? 'the screenshot was stored' : 'the screenshot could not be stored',
      };
    }
    const answer = await this.#session.step(step.tool, this.#placeholders.fillAll({ ...step.input }));
    const text = this.#words(answer);
    return { kind: answer.kind, text };
  }

  async #assert(input: AssertStep['input']): Promise<StepEnd> {
    const filled = this.#placeholders.fillAll(input);
    const { subject, target, property } = filled;
    const until = performance.now() + assertMs;
    for (;;) {
      const answer = await this.#session.step('observe', { subject, target });
      if (answer.kind !== 'done') return { kind: answer.kind, text: this.#words(answer) };
      const { actual: found = null } = answer.findings;
      const actual = found !== null && property !== undefined ? selected(found, property) : found;
      const passed = holds(filled, actual);
      if (!passed && performance.now() < until) {
        await delay(lookMs);
        continue;
      }
      if (!passed && actual === null && targetedSubjects.includes(subject)) {
        return { kind: 'misfit', text: `no element of the page matches ${JSON.stringify(input.target)}` };
      }
      const shown = actual === null ? null : this.#placeholders.hide(actual).slice(0, 2000);
      return { kind: 'verified', passed, actual: shown };
    }
  }

  async #judged(question: string): Promise<StepEnd> {
    const { holds: passed, because } = await this.#judge(question);
    return { kind: 'verified', passed, actual: because };
  }

  /** Text of a reply of the page, without values. */
  #words(answer: PageAnswer): string {
    const { hide } = { hide: (text: string) => this.#placeholders.hide(text) };
    if (answer.kind === 'ended') return hide(answer.message);
    if (answer.kind !== 'done') {
      this.record.refuse(answer.refused.map(hide));
      const also = answer.refused.length > 0 ? `; blocked: ${answer.refused.join(', ')}` : '';
      return hide(`${answer.message}${also}`);
    }
    this.#status = answer.findings.status;
    this.record.refuse(answer.findings.refused.map(hide));
    return hide(findingWords(answer.findings));
  }
}

function findingWords({
  url,
  title,
  status,
  tabs,
  dialog,
  refused,
  notices,
  note,
  text,
  response,
}: PageFindings) {
  return [
    `page: ${url} ${JSON.stringify(title)}${status === null ? '' : ` status ${status}`}`,
    tabs > 1 ? `tabs: ${tabs}` : '',
    dialog === null ? '' : `last dialog: ${dialog}`,
    note ?? '',
    refused.length > 0 ? `blocked, because the check does not allow them: ${refused.join(', ')}` : '',
    ...notices,
    response
      ? `response: status ${response.status}\n${JSON.stringify(response.headers)}\n${response.body}`
      : '',
    text ?? '',
  ]
    .filter((line) => line !== '')
    .join('\n');
}

export function verdictWords({
  passed,
  actual,
}: {
  readonly passed: boolean;
  readonly actual: string | null;
}): string {
  return `${passed ? 'holds' : 'does not hold'}: ${actual ?? 'nothing found'}`;
}
