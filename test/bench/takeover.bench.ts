import { killAndTakeOver } from '../helpers/service/takeover.ts';
import { type Bench, numberOption } from './report.ts';

const bench: Bench = {
  usage: '[--runs=50] [--rounds=3]',
  title: 'Takeover after kill -9 of an agent',
  async run(run) {
    const runs = numberOption(run, 'runs', 50);
    const rounds = numberOption(run, 'rounds', 3);
    const rows: string[][] = [];
    let worstMs = 0;
    for (let round = 1; round <= rounds; round += 1) {
      const { inFlight, finalOnce, doubled, takeoverMs } = await killAndTakeOver(runs);
      worstMs = Math.max(worstMs, takeoverMs);
      rows.push([
        String(round),
        String(inFlight),
        String(finalOnce),
        String(doubled),
        (takeoverMs / 1000).toFixed(1),
      ]);
      run.progress(
        `round ${round}: ${finalOnce} of ${inFlight} taken over in ${(takeoverMs / 1000).toFixed(1)} s`,
      );
    }
    return {
      columns: ['round', 'in flight at the kill', 'one FINAL', 'more than one', 'last FINAL after (s)'],
      rows,
      notes: [
        'Seconds count from the second agent being ready to the last FINAL of the runs that were in flight. Leases last 15 s.',
      ],
      figures: { worst_s: (worstMs / 1000).toFixed(1) },
    };
  },
};
export default bench;
