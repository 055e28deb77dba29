import { appendFileSync, writeFileSync } from 'node:fs';

/** What a trial tells: to the terminal and to a file, each line with the time. */
export class TrialLog {
  readonly #file: string;
  failedCount = 0;
  passedCount = 0;

  constructor(file: string) {
    this.#file = file;
    writeFileSync(file, '');
  }

  heading(text: string): void {
    this.#print(`\n== ${text}`);
  }

  note(text: string): void {
    this.#line(`         ${text}`);
  }

  /** What was looked at, whether it is as it should be, and what was seen. */
  expect(what: string, isAsExpected: boolean, seen = ''): void {
    if (isAsExpected) this.passedCount += 1;
    else this.failedCount += 1;
    this.#line(`  ${isAsExpected ? 'ok    ' : 'FAILED'} ${what}${seen === '' ? '' : `: ${seen}`}`);
  }

  #line(text: string): void {
    this.#print(`${new Date().toISOString().slice(11, 21)}${text}`);
  }

  #print(text: string): void {
    console.log(text);
    appendFileSync(this.#file, `${text}\n`);
  }
}

/** Milliseconds as people read them. */
export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
