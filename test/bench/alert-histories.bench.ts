import { historyOf } from '../helpers/alert-histories/history.ts';
import { liveThrough } from '../helpers/alert-histories/stage.ts';
import { type Bench, numberOption } from './report.ts';

/** `npm run bench -- alert-histories [--histories=100000] [--first=1] [--together=250]` */
const bench: Bench = {
  title: 'Histories of alerts: each outage told in time, each incident ended once',
  async run(run) {
    const histories = numberOption(run, 'histories', 100_000);
    const first = numberOption(run, 'first', 1);
    const together = numberOption(run, 'together', 250);
    const violations: string[] = [];
    const counts = { due: 0, messages: 0, causes: 0 };
    const beganMs = performance.now();
    for (let done = 0; done < histories; done += together) {
      const round = Array.from({ length: Math.min(together, histories - done) }, (_, index) =>
        historyOf(first + done + index),
      );
      for (const verdict of await liveThrough(round)) {
        violations.push(...verdict.violations);
        for (const text of verdict.violations) run.progress(text);
        counts.due += verdict.due;
        counts.messages += verdict.messages;
        counts.causes += verdict.causes;
      }
      run.progress(`${done + round.length} histories, ${violations.length} violations`);
    }
    const perCause = counts.messages / Math.max(1, counts.causes);
    const seconds = (performance.now() - beganMs) / 1_000;
    return {
      columns: ['histories', 'outages to be told', 'violations', 'messages per cause'],
      rows: [[String(histories), String(counts.due), String(violations.length), perCause.toFixed(3)]],
      notes: [...violations.slice(0, 20), `${(histories / seconds).toFixed(1)} histories a second`],
      figures: { histories, due: counts.due, violations: violations.length, perCause: perCause.toFixed(3) },
    };
  },
};

export default bench;
