import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { instant, shortened } from '../../elements/format.ts';
import { section } from '../../elements/text.ts';
import { type Content, type Html, html, path } from '../../html.ts';
import { type Artifact, fileHref, fileOf, StoredFiles } from './artifacts.ts';

const [shownPairs, shownVideos] = [24, 4];

/** A screenshot of a run next to that of the last pass. */
export interface Pair {
  readonly now: Artifact | undefined;
  readonly before: Artifact | undefined;
}

/**
 * Pairs screenshots by their names, which are those of tests and steps. The rest are paired by their position: a script
 * may number its files anew in each run.
 */
export function pairsOf(now: readonly Artifact[], before: readonly Artifact[]): Pair[] {
  const byName = new Map(before.map((shot) => [shot.name, shot]));
  const names = new Set(now.map(({ name }) => name));
  const others = before.filter(({ name }) => !names.has(name));
  const pairs = now.map((shot) => ({ now: shot, before: byName.get(shot.name) ?? others.shift() }));
  return [...pairs, ...others.map((shot) => ({ now: undefined, before: shot }))];
}

/** Shows the screenshots of a run, each next to that of the last pass. */
export function screenshotSection(result: CheckResult, lastPass: CheckResult | undefined): Content {
  const now = new StoredFiles(result).ofType('screenshot');
  if (now.length === 0) return '';
  const before = lastPass ? new StoredFiles(lastPass).ofType('screenshot') : [];
  if (!lastPass || before.length === 0) {
    return section(
      'Screenshots',
      html`${lastPass ? html`<p class="hint">The ${passLink(lastPass)} has no screenshots to compare with.</p>` : ''}<ul class="shots">${now
        .slice(0, shownPairs)
        .map((shot) => html`<li>${picture(result, shot)}</li>`)}</ul>${restHint(now.length)}`,
      'screenshots',
    );
  }
  const pairs = pairsOf(now, before);
  return section(
    'Screenshots',
    html`<ul class="shot-pairs">${pairs
      .slice(0, shownPairs)
      .map(
        (pair) =>
          html`<li>${side('This run', result, pair.now)}${side('Last pass', lastPass, pair.before)}</li>`,
      )}</ul>${restHint(pairs.length)}`,
    'screenshots',
  );
}

function restHint(count: number): Content {
  return count > shownPairs
    ? html`<p class="hint">${count - shownPairs} more are under <a href="#files">Files</a>.</p>`
    : '';
}

function side(word: string, result: CheckResult, shot: Artifact | undefined): Html {
  const at = instant(result.startedAt ?? result.created_at);
  return html`<figure class="shot-side"><figcaption><b>${word}</b> <span class="soft">${at}</span></figcaption>${
    shot ? picture(result, shot) : html`<p class="empty">No screenshot of this step.</p>`
  }</figure>`;
}

function picture(result: CheckResult, { name }: Artifact): Html {
  const href = fileHref(result, name);
  return html`<a href="${href}"><img src="${href}" alt="Screenshot ${name}" loading="lazy"></a><p class="small soft shot-name">${shortened(fileOf(name), 120)}</p>`;
}

function passLink({ checkId, id, startedAt, created_at: createdAt }: CheckResult): Html {
  return html`<a href="${path`/checks/${checkId}/runs/${id}`}">last pass</a> (${instant(startedAt ?? createdAt)})`;
}

export function videoSection(result: CheckResult): Content {
  const videos = new StoredFiles(result).ofType('video');
  if (videos.length === 0) return '';
  return section(
    'Video',
    html`<div class="shots">${videos
      .slice(0, shownVideos)
      .map(
        ({ name }) =>
          html`<figure><video controls preload="metadata" src="${fileHref(result, name)}" aria-label="Video ${name}"></video><figcaption class="small soft shot-name">${shortened(fileOf(name), 120)}</figcaption></figure>`,
      )}</div>`,
    'video',
  );
}
