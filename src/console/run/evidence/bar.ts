import { failureCatalogue, isFailureCode } from '@picket/checks/contract/failure.ts';
import { findCheckType } from '@picket/checks/index.ts';
import type { DetailSummary } from '@picket/checks/summary/detail-summary.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { bytes, counted } from '../../elements/format.ts';
import { icon } from '../../elements/icon.ts';
import { type Content, type Html, html } from '../../html.ts';
import { fileHref, type Opening, routeFile, type StoredFiles } from './artifacts.ts';

/** Everything that the bar offers. */
export interface BarSources {
  readonly result: CheckResult;
  readonly files: StoredFiles;
  readonly openings: ReadonlyMap<string, Opening>;
  readonly summary: DetailSummary | undefined;
  readonly now: number;
}

interface Offer {
  readonly icon: string;
  readonly word: string;
  readonly href: string;
  /** Size, or number of files. */
  readonly note?: string;
  readonly isElsewhere?: boolean;
}

/** Buttons for the evidence of a run, each a click away from it; missing evidence has a reason in place of a button. */
export function evidenceBar(sources: BarSources): Content {
  const offers = offersOf(sources);
  const gaps = gapsOf(sources);
  if (offers.length + gaps.length === 0) return '';
  return html`<nav class="evidence" aria-label="Evidence"${isArriving(sources) ? html` data-unfinished` : ''}>${offers.map(button)}${gaps.map(
    (gap) => html`<p class="evidence-gap">${gap}</p>`,
  )}</nav>`;
}

/** Agents send files within moments of the result, except when they are lost; the page then refreshes by hand. */
const arrivalMs = 2 * 60_000;

function isArriving({ result, now }: BarSources): boolean {
  const isRecent = now - Date.parse(result.created_at) < arrivalMs;
  return isRecent && result.artifacts.some(({ state }) => state === 'awaited');
}

function button({ icon: name, word, href, note, isElsewhere }: Offer): Html {
  return html`<a class="button" href="${href}"${isElsewhere ? html` target="_blank" rel="noopener noreferrer"` : ''}>${icon(name)}${word}${note ? html` <span class="soft small">${note}</span>` : ''}</a>`;
}

function offersOf({ result, files, openings, summary }: BarSources): Offer[] {
  const [videos, shots, captures] = [files.ofType('video'), files.ofType('screenshot'), files.ofType('pcap')];
  const sections = summary?.sections ?? [];
  const path = sections.find((one) => one.path !== undefined);
  const routes = [
    ...(files.named(routeFile) ? ['#route'] : []),
    ...(path?.id === undefined ? [] : [`#${path.id}`]),
  ];
  const jump = (icon: string, word: string, href: string | undefined, count = 0): Offer[] =>
    href === undefined ? [] : [{ icon, word, href, ...(count > 1 ? { note: String(count) } : {}) }];
  const hasSection = (id: string) => (sections.some((one) => one.id === id) ? `#${id}` : undefined);
  return [
    ...opened(result, openings, 'trace').map((one) => ({ ...one, icon: 'play', word: 'Trace' })),
    ...jump('device-camera-video', 'Video', videos.length > 0 ? '#video' : undefined, videos.length),
    ...jump('image', 'Screenshots', shots.length > 0 ? '#screenshots' : undefined, shots.length),
    ...captures.slice(0, 1).map(({ name, sizeBytes }) => ({
      ...{ icon: 'download', word: 'Capture', href: fileHref(result, name) },
      note: bytes(sizeBytes ?? 0),
    })),
    ...jump('shield-lock', 'Certificate', hasSection('certificate')),
    ...jump('git-branch', 'Route', routes[0]),
    ...opened(result, openings, 'report').map((one) => ({ ...one, icon: 'file', word: 'HTML report' })),
    ...jump('log', 'Log', (summary?.log ?? []).length > 0 ? '#log' : undefined),
  ];
}

/** The first file of a kind, in the browser if it opens there, and the number of files if there are several. */
function opened(
  result: CheckResult,
  openings: ReadonlyMap<string, Opening>,
  kind: Opening['kind'],
): Pick<Offer, 'href' | 'note' | 'isElsewhere'>[] {
  const all = [...openings].filter(([, one]) => one.kind === kind);
  return all.slice(0, 1).map(([name, { href }]) => ({
    href: href ?? fileHref(result, name),
    isElsewhere: href !== null,
    ...(href === null ? { note: 'download' } : all.length > 1 ? { note: `1 of ${all.length}` } : {}),
  }));
}

/** Why evidence is missing that a reader may look for: only evidence that the type of the check can have. */
function gapsOf({ result, files, openings, summary }: BarSources): string[] {
  const type = findCheckType(result.checkType);
  const fields = type?.artifactFields ?? [];
  if (result.isDetailLeftOut || !type) return [];
  const isBad = result.hasFailures || result.hasErrors;
  const missing = result.artifacts.filter(({ state }) => state !== 'stored');
  const isAwaited = missing.some(({ state }) => state === 'awaited');
  const hasTrace = [...openings.values()].some(({ kind }) => kind === 'trace');
  const gaps: string[] = [];
  // The rest of the evidence may be among the files that the agent is sending.
  if (isAwaited)
    return [`${counted(missing.length, 'file')} not stored yet: the agent sends files after the result.`];
  if (fields.includes('playwrightTestTraces') && !hasTrace) gaps.push('No trace was recorded.');
  if (fields.includes('playwrightTestVideos') && files.ofType('video').length === 0) {
    gaps.push(
      type.needsSuites
        ? 'No video: the configuration of the suite records none, or the agent lacks ffmpeg.'
        : isBad
          ? 'No video: agents with ffmpeg record one of a failed test.'
          : 'No video: videos are kept of failed tests only.',
    );
  }
  if (fields.includes('pcapDataUrl') && files.ofType('pcap').length === 0 && !files.named(routeFile)) {
    const { code = null } = result.failure ?? {};
    const isNetworkError = code !== null && isFailureCode(code) && failureCatalogue[code].isNetworkError;
    gaps.push(
      isNetworkError
        ? `No capture and no route${summary?.log?.length ? ': the log says why' : ' were made'}.`
        : 'No capture and no route: agents make them when the connection to the target fails.',
    );
  }
  if (missing.length > 0)
    gaps.push(`${counted(missing.length, 'file')} not stored: the reason is below, under Files.`);
  return gaps;
}
