import type { AddressVerdict } from '../../../checks/addresses/fields.ts';
import { duration } from '../../elements/format.ts';
import { table } from '../../elements/table.ts';
import { section, visible } from '../../elements/text.ts';
import { type Html, html } from '../../html.ts';

const words = { passed: 'passed', degraded: 'degraded', failed: 'failed' } as const;

/** What became of each address, where a run went to several. */
export function addressSection(addresses: readonly AddressVerdict[] | undefined): Html | '' {
  if (!addresses || addresses.length === 0) return '';
  const well = addresses.filter(({ verdict }) => verdict !== 'failed').length;
  return section(
    'Addresses',
    html`<p>${well} of ${addresses.length} answer as they should. All else on this page is of the worst of them.</p>${table<AddressVerdict>(
      {
        caption: 'What became of each address',
        rows: addresses,
        empty: '',
        columns: [
          {
            title: 'Address',
            cell: ({ address }) => (address === null ? 'none' : html`<code>${visible(address)}</code>`),
          },
          { title: 'Family', cell: ({ ipFamily }) => ipFamily },
          {
            title: 'Verdict',
            cell: ({ verdict }) =>
              verdict === 'failed' ? html`<b class="error">${words.failed}</b>` : words[verdict],
          },
          { title: 'Time', cell: ({ responseTime }) => duration(responseTime), isNumber: true },
          { title: 'A browser uses', cell: ({ isBrowsersChoice }) => (isBrowsersChoice ? 'this one' : '') },
          { title: 'Why', cell: ({ message }) => visible(message ?? '') },
        ],
      },
    )}`,
    'addresses',
  );
}
