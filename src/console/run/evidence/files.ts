import { type AssetType, assetTypeOf } from '@picket/protocol/results/artifact.ts';
import type { CheckResult } from '@picket/protocol/results/check-result.ts';
import { bytes } from '../../elements/format.ts';
import { table } from '../../elements/table.ts';
import { block, section, visible } from '../../elements/text.ts';
import { type Content, type Html, html } from '../../html.ts';
import { type Artifact, fileHref, fileOf, type Opening, type StoredFiles } from './artifacts.ts';

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

/** Shows the hops to the target; the last line summarizes how far the packets got. */
export function routeSection(text: string): Html {
  const summary = text.trimEnd().split('\n').at(-1) ?? '';
  return section(
    'Route',
    html`<p>${visible(summary.slice(0, 1).toUpperCase() + summary.slice(1))}.</p>${block('Traceroute', text)}`,
    'route',
  );
}

export function captureSection(result: CheckResult, files: StoredFiles): Content {
  const captures = files.ofType('pcap');
  if (captures.length === 0) return '';
  return section(
    'Packets',
    html`<p>Captured packets. Open the file with Wireshark or <code>tcpdump -r</code>.</p><p class="actions">${captures.map(
      ({ name, sizeBytes }) =>
        html`<a class="button" href="${fileHref(result, name)}">Download ${fileOf(name)} (${bytes(sizeBytes ?? 0)})</a>`,
    )}</p>`,
    'packets',
  );
}

/** Lists all files of a run, with the missing ones and why they are missing. */
export function fileSection(result: CheckResult, openings: ReadonlyMap<string, Opening>): Content {
  const { artifacts } = result;
  if (artifacts.length === 0) return '';
  return section(
    'Files',
    table<Artifact>({
      caption: 'Files of the run',
      rows: artifacts,
      empty: '',
      columns: [
        { title: 'Kind', cell: ({ name, contentType }) => typeWords[assetTypeOf(name, contentType)] },
        {
          title: 'Name',
          cell: ({ name, state, reason }) =>
            state === 'stored'
              ? html`<a href="${fileHref(result, name)}">${name}</a>${openingLink(name, openings.get(name))}${reason === null ? '' : html` <span class="soft">${reason}</span>`}`
              : html`${name} <span class="soft">${stateWords[state]}${reason === null ? '' : `: ${reason}`}</span>`,
        },
        {
          title: 'Size',
          cell: ({ sizeBytes }) => (sizeBytes === null ? '–' : bytes(sizeBytes)),
          isNumber: true,
        },
      ],
    }),
    'files',
  );
}

function openingLink(name: string, opening: Opening | undefined): Content {
  if (!opening) return '';
  const { href, kind } = opening;
  if (href === null)
    return html`<p class="small soft">Download it, then <code>npx playwright show-trace ${fileOf(name)}</code></p>`;
  const words = kind === 'report' ? 'Open the report' : 'Open in the trace viewer';
  return html` <a href="${href}" target="_blank" rel="noopener noreferrer">${words}</a>`;
}
