import { type AssetType, assetTypeOf } from '@picket/protocol/results/artifact.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { artifactKey } from '@picket/service/results/artifacts/intake.ts';
import { bytes } from '../elements/format.ts';
import { table } from '../elements/table.ts';
import { block, section, visible } from '../elements/text.ts';
import { type Content, type Html, html, path } from '../html.ts';
import type { PageCall } from '../page.ts';

type Artifact = CheckResult['artifacts'][number];

/** Maximum inline length of a text file. */
const shownBytes = 64 * 1024;

/** Returns the address of a file of a run: its content is from a target or a script, and is not executed there. */
export function fileHref(result: Pick<CheckResult, 'checkId' | 'id'>, name: string): string {
  const inPath = name.split('/').map(encodeURIComponent).join('/');
  return `${path`/checks/${result.checkId}/runs/${result.id}/files/`}${inPath}`;
}

/** Shows the files of a run: inline if possible, all others as downloads. */
export async function evidenceSections(call: PageCall, result: CheckResult): Promise<Content[]> {
  const { artifacts } = result;
  const stored = artifacts.filter(({ state }) => state === 'stored');
  const ofType = (type: AssetType) =>
    stored.filter(({ name, contentType }) => assetTypeOf(name, contentType) === type);
  const route = stored.find(({ name }) => name === 'traceroute.txt');
  const [screenshots, videos, captures] = [ofType('screenshot'), ofType('video'), ofType('pcap')];
  return [
    route ? section('Route', routeContent(await readText(call, result, route.name)), 'route') : '',
    captures.length > 0
      ? section(
          'Packets',
          html`<p>Captured packets. Open the file with Wireshark or <code>tcpdump -r</code>.</p><p class="actions">${captures.map(
            ({ name, sizeBytes }) =>
              html`<a class="button" href="${fileHref(result, name)}">Download ${fileOf(name)} (${bytes(sizeBytes ?? 0)})</a>`,
          )}</p>`,
          'packets',
        )
      : '',
    screenshots.length > 0
      ? section(
          'Screenshots',
          html`<ul class="shots">${screenshots.slice(0, 24).map((shot) => screenshot(result, shot))}</ul>`,
        )
      : '',
    videos.length > 0
      ? section(
          'Video',
          videos
            .slice(0, 4)
            .map(
              ({ name }) =>
                html`<video controls preload="none" src="${fileHref(result, name)}" aria-label="Video ${name}"></video>`,
            ),
        )
      : '',
    artifacts.length > 0
      ? section('Files', fileTable(result, artifacts, await openings(call, result, stored)), 'files')
      : '',
  ];
}

/** Shows the hops to the target; the last line summarizes how far the packets got. */
function routeContent(text: string): Html {
  const summary = text.trimEnd().split('\n').at(-1) ?? '';
  return html`<p>${visible(summary.slice(0, 1).toUpperCase() + summary.slice(1))}.</p>${block('Traceroute', text)}`;
}

function screenshot(result: CheckResult, { name }: Artifact): Html {
  const href = fileHref(result, name);
  return html`<li><a href="${href}"><img src="${href}" alt="Screenshot ${name}" loading="lazy"></a></li>`;
}

const typeWords: Readonly<Record<AssetType, string>> = {
  log: 'Log',
  trace: 'Playwright trace',
  video: 'Video',
  screenshot: 'Screenshot',
  pcap: 'Packet capture',
  report: 'Report',
  file: 'File',
};
const stateWords: Readonly<Record<Artifact['state'], string>> = {
  stored: '',
  awaited: 'awaited',
  refused: 'refused',
  withheld: 'withheld',
  lost: 'lost',
};

/** Links to files that open in the browser: reports as pages, traces in Playwright's viewer. */
async function openings(
  { links, viewer }: PageCall,
  { checkId, id }: CheckResult,
  stored: readonly Artifact[],
): Promise<ReadonlyMap<string, Html>> {
  const isReport = ({ contentType }: Artifact) => /^text\/html\b/i.test(contentType);
  const isTrace = ({ name, contentType }: Artifact) => assetTypeOf(name, contentType) === 'trace';
  const wanted = stored.filter((one) => isReport(one) || isTrace(one));
  if (wanted.length === 0) return new Map();
  const hrefOf = await links.of(viewer, { checkId, resultId: id });
  return new Map(wanted.map((one) => [one.name, isReport(one) ? report(one) : trace(one)]));

  function report({ name }: Artifact): Html {
    return html` <a href="${hrefOf(name)}" target="_blank" rel="noopener noreferrer">Open the report</a>`;
  }

  function trace({ name }: Artifact): Html {
    const href = links.traceViewer(hrefOf(name));
    return href === null
      ? html`<p class="small soft">Download it, then <code>npx playwright show-trace ${fileOf(name)}</code></p>`
      : html` <a href="${href}" target="_blank" rel="noopener noreferrer">Open in the trace viewer</a>`;
  }
}

function fileOf(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

function fileTable(
  result: CheckResult,
  artifacts: readonly Artifact[],
  openings: ReadonlyMap<string, Html>,
): Html {
  return table<Artifact>({
    caption: 'Files of the run',
    rows: artifacts,
    empty: '',
    columns: [
      { title: 'Kind', cell: ({ name, contentType }) => typeWords[assetTypeOf(name, contentType)] },
      {
        title: 'Name',
        cell: ({ name, state, reason }) =>
          state === 'stored'
            ? html`<a href="${fileHref(result, name)}">${name}</a>${openings.get(name)}${reason === null ? '' : html` <span class="soft">${reason}</span>`}`
            : html`${name} <span class="soft">${stateWords[state]}${reason === null ? '' : `: ${reason}`}</span>`,
      },
      {
        title: 'Size',
        cell: ({ sizeBytes }) => (sizeBytes === null ? '–' : bytes(sizeBytes)),
        isNumber: true,
      },
    ],
  });
}

/** Returns the beginning of a stored text file. */
async function readText(
  { store, artifactStore }: PageCall,
  result: CheckResult,
  name: string,
): Promise<string> {
  const rows = (await store.artifacts.ofResults([result.id])).get(result.id) ?? [];
  const row = rows.find((one) => one.name === name && one.state === 'stored');
  const last = Math.min(row?.size_bytes ?? 0, shownBytes) - 1;
  const content =
    row && last >= 0 ? await artifactStore.open(artifactKey(row), { first: 0, last }) : undefined;
  if (!content) return 'The stored file is missing.';
  const chunks: Buffer[] = [];
  for await (const chunk of content) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
