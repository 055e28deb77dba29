import fc from 'fast-check';
import { plannedRequests, sendPlanned } from '../helpers/service/api-requests/api-requests.ts';
import { inhabit } from '../helpers/service/api-requests/inhabited-account.ts';
import { naughtyTexts } from '../helpers/service/api-requests/naughty-texts.ts';
import { textFields, writeText } from '../helpers/service/api-requests/text-fields.ts';
import { openHarness } from '../helpers/service/service.ts';
import { type Bench, type BenchRun, numberOption } from './report.ts';

/** Requests per account; then a new account is created, so that lists stay short. */
const requestsPerAccount = 5000;
const maxShownProblems = 5;

/** The number of texts that follow scales in proportion to the requests. */
const bench: Bench = {
  usage: '[--requests=50000]',
  title: 'Requests made of the schemas of every route: answers outside the document',
  async run(run) {
    const wanted = numberOption(run, 'requests', 50_000);
    const byStatus = new Map<number, number>();
    const problems: string[] = [];
    const withSuccess = new Set<string>();
    const seen = new Set<string>();
    let sent = 0;
    while (sent < wanted) {
      const service = await openHarness();
      const account = await inhabit(service);
      const count = Math.min(requestsPerAccount, wanted - sent);
      for (const plan of fc.sample(plannedRequests, count)) {
        const { route, status, problem } = await sendPlanned(account, plan);
        byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
        seen.add(route.operationId);
        if (status === route.success.statusCode) withSuccess.add(route.operationId);
        if (problem && problems.push(problem) <= maxShownProblems) run.progress(problem);
      }
      sent += count;
      await service.close();
      run.progress(`${sent} of ${wanted}, ${problems.length} outside the document`);
    }
    const texts = await writeTexts(Math.min(1, wanted / 50_000), problems, run);
    const faults = [...byStatus]
      .filter(([status]) => status >= 500)
      .reduce((sum, [, count]) => sum + count, 0);
    const rows = [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => [`answered ${status}`, `${count}`]);
    return {
      columns: ['what', 'count'],
      rows: [
        ['requests', `${sent}`],
        ...rows,
        ['operations asked', `${seen.size}`],
        ['operations that answered with success', `${withSuccess.size}`],
        ['naughty texts written, each into every kind of object', `${texts}`],
        ['answers outside the document', `${problems.length}`],
      ],
      notes: [
        'Promised: right requests are answered with success in the form of the schema, or refused for what there is (402, 404, 408, 409, 413) or by a rule that names its field; wrong ones with 400 and the name of a wrong field; none with 5xx. Texts come back as they were, or are refused by name.',
        'Half of the bodies have one wrong value; a tenth of the paths unknown ids, a tenth nonsense. Embedded store.',
      ],
      figures: { requests: sent, faults, problems: problems.length, success: withSuccess.size },
    };
  },
};
export default bench;

/** @returns the number of texts written. */
async function writeTexts(share: number, problems: string[], run: BenchRun): Promise<number> {
  const service = await openHarness();
  const account = await inhabit(service);
  let count = 0;
  for (const field of textFields) {
    for (const text of naughtyTexts.slice(0, Math.ceil(naughtyTexts.length * share))) {
      const problem = await writeText(account, field, text);
      if (problem && problems.push(problem) <= maxShownProblems) run.progress(problem);
      count += 1;
    }
  }
  await service.close();
  return count;
}
