import type { PageKey } from '@picket/protocol/pages/page-fields.ts';
import { type Html, html, withQuery } from '../../html.ts';
import { copyBox } from '../copy.ts';
import { instant } from '../format.ts';
import { table } from '../table.ts';
import { section } from '../text.ts';

/** Shows a new key of a private page, once. */
export function pageKeyOnce(noun: string, address: string, key: string): Html {
  return html`<section class="key-once" role="status"><h2>The key of the ${noun}</h2><p>Copy it now. It is not shown again.</p>
${copyBox(key, 'the key')}<p class="small">Address with the key, for screens and feed readers:</p>
${copyBox(withQuery(address, { key }), 'the address with the key')}</section>`;
}

/** Lists the masked keys of a private page. */
export function pageKeys(noun: string, keys: readonly PageKey[]): Html {
  return section(
    'Keys',
    table({
      caption: `Keys of the ${noun}`,
      rows: keys,
      empty: 'It has no key, so no one can open it. Make it public, then private again, to get a key.',
      columns: [
        { title: 'Key', cell: ({ maskedKey }) => html`<code>${maskedKey}</code>` },
        { title: 'Created', cell: ({ created_at: at }) => instant(at) },
      ],
    }),
  );
}
