import type { DetailSummary } from '@picket/checks/summary/detail-summary.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import type { Content } from '../../html.ts';
import type { PageCall } from '../../page.ts';
import { openingsOf, readText, routeFile, StoredFiles } from './artifacts.ts';
import { evidenceBar } from './bar.ts';
import { captureSection, fileSection, routeSection } from './files.ts';
import { screenshotSection, videoSection } from './pictures.ts';

/** The evidence of a run, in the order of its page. */
export interface Evidence {
  /** Buttons that lead to each kind. */
  readonly bar: Content;
  readonly pictures: Content;
  readonly files: Content;
}

/** Shows the files of a run: inline if possible, all others as downloads. */
export async function evidenceOf(
  call: PageCall,
  result: CheckResult,
  known: { readonly summary: DetailSummary | undefined; readonly lastPass?: CheckResult | undefined },
): Promise<Evidence> {
  const { summary, lastPass } = known;
  const files = new StoredFiles(result);
  const route = files.named(routeFile);
  const [openings, routeText] = await Promise.all([
    openingsOf(call, result, files),
    route ? readText(call, result, route.name) : undefined,
  ]);
  return {
    bar: evidenceBar({ result, files, openings, summary, now: call.clock.wallMs() }),
    pictures: [screenshotSection(result, lastPass), videoSection(result)],
    files: [
      routeText === undefined ? '' : routeSection(routeText),
      captureSection(result, files),
      fileSection(result, openings),
    ],
  };
}
